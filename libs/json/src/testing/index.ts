export { bytesInUse, heapTakenBy } from './heap-taken';
