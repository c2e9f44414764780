char a[2000000000] = {1};
int main(void) {}