import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { checkArriving } from '@libs/contracts';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { RedisReplies } from './redis-replies';

const UNEXPECTED = 'Redis sent what is no reply to a command of ours';

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;

/**
 * Connects to Redis and closes a connection at the first reply that no command of ours has. The client alone would
 * allocate what a reply announces, keep whatever comes, throw on some replies where no caller can catch it, and read
 * replies that answer nothing for as long as they come.
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
    const replies = new RedisReplies();
    checkArriving(this.stream, (chunk) => (replies.areExpected(chunk) ? null : new Error(UNEXPECTED)));
    countCommands(this.stream, replies);
    return this.stream;
  }
}

/** The client writes each command by one call. */
function countCommands(stream: Stream, replies: RedisReplies): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (...args: unknown[]): boolean => {
    replies.expectOne();
    return write(...args);
  };
}
