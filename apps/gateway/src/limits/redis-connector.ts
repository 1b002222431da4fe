import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { RedisReplies } from './redis-replies';

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;

/**
 * Connects to Redis and closes a connection at the first reply that no command of ours has. The client alone would
 * allocate what a reply announces, keep whatever comes, and throw on some replies where no caller can catch it.
 */
export class RedisConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    super((options as RedisOptions).disconnectTimeout!);
    this.#options = options as RedisOptions;
  }

  override async connect(): Promise<Stream> {
    const { host = '127.0.0.1', port = 6_379, family, tls } = this.#options;
    this.connecting = true;
    const target = { host, port, family };
    this.stream = tls === undefined ? connectTcp(target) : connectTls(target);
    this.stream.once('error', (error) => (this.firstError = error));
    checkReplies(this.stream);
    return this.stream;
  }
}

/** All bytes that arrive pass through `push` before any listener has them. */
function checkReplies(stream: Stream): void {
  const replies = new RedisReplies();
  const push = stream.push.bind(stream);
  stream.push = (chunk: Buffer | null): boolean => {
    if (chunk === null || replies.areExpected(chunk)) return push(chunk);
    stream.destroy(new Error('Redis sent what is no reply to a command of ours'));
    return false;
  };
}
