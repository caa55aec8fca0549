"""What goes out to other people's servers, wherever it is sent from."""
