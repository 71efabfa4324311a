package pool
