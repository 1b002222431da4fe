import type { CallContract, JobContract } from '@libs/contracts';
import { AppError, type AppErrorWire } from '@libs/errors';
import { messageFailure } from './broker-failure';

/**
 * The bytes of a message: JSON in the packet form of Nest's transports, `{ pattern, data, id? }` to the owner and `{
 * id, response | err, isDisposed }` back, so that tools for these can read our queues.
 */
export interface Packet {
  /** Wire name of the contract. */
  readonly pattern: string;
  readonly data: unknown;
}

export type Reply = { readonly response: unknown } | { readonly err: AppErrorWire };

/** Largest job: it contains only ids of rows, so a larger one is an error. */
const MAX_JOB_BYTES = 4_096;
/** Largest question, answer or event. Receivers check it too, because the broker accepts far larger messages. */
export const MAX_CALL_BYTES = 1_048_576;

/** @throws AppError `server` when the payload is larger than a job may be */
export function encodeJob<P extends object>(contract: JobContract<P>, payload: P): Buffer {
  return encode({ pattern: contract.name, data: payload }, contract.name, MAX_JOB_BYTES);
}

/** @throws AppError `server` when the request is larger than a call may be */
export function encodeCall<Q extends object, R extends object>(
  contract: CallContract<Q, R>,
  request: Q,
  id: string,
): Buffer {
  return encode({ pattern: contract.name, data: request, id }, contract.name, MAX_CALL_BYTES);
}

/** @throws AppError `server` when the answer is larger than a call may be */
export function encodeReply(reply: Reply, id: string, contractName: string): Buffer {
  return encode({ id, ...reply, isDisposed: true }, contractName, MAX_CALL_BYTES);
}

/** @throws AppError `invalid_request` for anything that is no packet, and for a job that is too large, unread */
export function decodeJob(content: Buffer): Packet {
  if (content.length <= MAX_JOB_BYTES) return decodePacket(content);
  throw new AppError('invalid_request', 'Unreadable message', { internal: `a job of ${content.length} bytes` });
}

/** @throws AppError `invalid_request` for anything that is no packet */
export function decodePacket(content: Buffer): Packet {
  const packet = parseObject(content);
  if (!packet || typeof packet['pattern'] !== 'string') {
    throw new AppError('invalid_request', 'Unreadable message', { internal: 'a message that is no packet' });
  }
  return { pattern: packet['pattern'], data: packet['data'] };
}

/** The response, or the owner's error as an AppError to throw. */
export function decodeReply(content: Buffer): { response: unknown } | { err: AppError } {
  const packet = parseObject(content);
  if (packet && 'response' in packet) return { response: packet['response'] };
  return { err: AppError.fromWire(packet?.['err']) };
}

function encode(packet: object, contractName: string, maxBytes: number): Buffer {
  const content = Buffer.from(JSON.stringify(packet));
  if (content.length > maxBytes) {
    throw messageFailure(`a message of ${contractName} has ${content.length} bytes, the limit is ${maxBytes}`);
  }
  return content;
}

function parseObject(content: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
