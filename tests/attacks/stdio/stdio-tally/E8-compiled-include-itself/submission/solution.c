#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include __FILE__
int main(void) {}