import type { ServerResponse } from 'node:http';
import type { AnswerStream } from '@libs/inference';
import { PacedWriter } from './paced-writer';

export interface StreamWriterOptions {
  /** Name of the service, for the comment that keeps connections open. */
  readonly serviceName: string;
  /** The events that end a stream early, when it has not ended itself. */
  readonly lastWords: () => Buffer | string;
  readonly keepAliveMs?: number;
  /** How long a reader may take nothing at all. */
  readonly writeIdleMs?: number;
}

const KEEP_ALIVE_MS = 10_000;
const WRITE_IDLE_MS = 60_000;

/**
 * Writes a stream of events to a response whose head is set but not sent: the head leaves together with the
 * first event. The upstream is read only while the reader keeps up, so a slow reader costs what one socket
 * buffers and one event more. While nothing comes, a comment every ten seconds keeps proxies from closing.
 *
 * The stream ends in one of three ways: with its own last event; with `lastWords` when something here ended
 * it; or with the connection, when the reader left or took nothing for a minute.
 */
export async function writeStream(
  response: ServerResponse,
  stream: AnswerStream,
  options: StreamWriterOptions,
): Promise<void> {
  const comment = `: ${options.serviceName.toUpperCase()} PROCESSING\n\n`;
  const writer = new PacedWriter(response, options.writeIdleMs ?? WRITE_IDLE_MS);
  const keepAlive = setInterval(() => writer.writeIfIdle(comment), options.keepAliveMs ?? KEEP_ALIVE_MS);
  const onClose = (): void => stream.cancel();
  response.once('close', onClose);
  try {
    for await (const events of stream) {
      keepAlive.refresh();
      if (!(await writer.write(events))) break;
    }
    const { state } = await stream.outcome;
    if (state === 'cancelled' && writer.isOpen) await writer.write(options.lastWords());
  } finally {
    clearInterval(keepAlive);
    response.off('close', onClose);
    stream.cancel();
    if (writer.isOpen) response.end();
  }
}
