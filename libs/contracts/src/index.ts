export { call, job, type CallContract, type Contract, type JobContract, type MessageClass } from './messages/contract';
export { queues, type QueueSpec } from './messages/queues';
export * from './keys/api-key-format';
export { Secret } from './secret';
