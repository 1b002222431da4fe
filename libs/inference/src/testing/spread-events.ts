import { createParser } from 'eventsource-parser';
import { EventStreamDecoder } from '../providers/event-stream-decoder';
import { eventStreamMessage } from '../providers/testing/event-stream-encoder';
import type { RecordedStream } from './recorded-streams';

/** The same stream of another server: events in several lines of data, among lines that carry nothing. */
export function inManyLines({ body, ...source }: RecordedStream, lineEnds: readonly string[]): RecordedStream {
  const isBinary = source.protocol === 'bedrock';
  return { ...source, body: isBinary ? withPrettyPayloads(body) : Buffer.from(withPrettyEvents(body, lineEnds)) };
}

/** White space between the tokens of JSON, line breaks among it. */
const pretty = (text: string): string => `\n${JSON.stringify(JSON.parse(text), null, 2).replace('\n', '\n\n')}`;

function withPrettyEvents(body: Buffer, lineEnds: readonly string[]): string {
  const lines: string[] = [];
  const parser = createParser({
    onEvent: ({ data: text, event }) => {
      const shown = text.startsWith('{') ? pretty(text) : text;
      if (event !== undefined) lines.push(`event:${event}`);
      lines.push(': a comment', 'id: 7', 'retry: 10');
      lines.push(...shown.split('\n').map((line) => (line === '' ? 'data' : `data: ${line}`)), '');
    },
  });
  parser.feed(body.toString());
  return `\ufeff${lines.map((line, at) => line + lineEnds[at % lineEnds.length]!).join('')}`;
}

function withPrettyPayloads(body: Buffer): Buffer {
  const messages: Buffer[] = [];
  const decoder = new EventStreamDecoder(({ headers, payload }) => {
    const { bytes, ...members } = JSON.parse(payload.toString()) as Record<string, unknown>;
    const inner = typeof bytes === 'string' && { bytes: Buffer.from(pretty(atob(bytes)), 'latin1').toString('base64') };
    messages.push(eventStreamMessage(Object.fromEntries(headers), pretty(JSON.stringify({ ...members, ...inner }))));
  });
  decoder.push(body);
  return Buffer.concat(messages);
}
