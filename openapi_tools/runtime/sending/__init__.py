"""What sending a request takes: clients, content codings, redirects, what can go wrong."""
