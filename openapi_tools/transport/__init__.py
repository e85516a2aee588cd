"""Send requests and receive answers: connections, network policy, deadlines, retries."""
