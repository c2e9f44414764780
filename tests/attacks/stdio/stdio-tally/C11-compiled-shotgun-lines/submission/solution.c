#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { for (int i = 1; i < 999; i++) printf("%d the\nnone\n", i); }