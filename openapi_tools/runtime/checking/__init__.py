"""How input is checked against a schema, and how what is wrong with it is put in words."""
