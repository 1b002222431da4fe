import { isObject, objectOf, objectsOf, type JsonObject } from '@libs/json';
import type { AnswerEvent } from '../../model/canonical-answer';
import type { ToolUnits } from '../reported-tools';
import type { StreamReader, UpstreamEvent } from '../translation';
import { piecesOf, plainError } from './answer-reader';

/** Reads a stream of OpenAI's chunks; splits lists of content first. */
export class MistralStreamReader implements StreamReader {
  constructor(private readonly reader: StreamReader) {}

  get uses(): ToolUnits | undefined {
    return this.reader.uses;
  }

  read(event: UpstreamEvent): AnswerEvent[] {
    return plainChunks(event.data).flatMap((data) => this.reader.read({ name: event.name, data }));
  }

  end(): AnswerEvent[] {
    return this.reader.end();
  }
}

/** Splits a chunk into one for each thought or text, to keep their order; the last one holds the other fields. */
function plainChunks(data: string): readonly string[] {
  const chunk = parsed(data);
  if (chunk === null) return [data];
  const choice = objectsOf(chunk['choices']).find(({ index }) => index === undefined || index === 0);
  const delta = objectOf(choice?.['delta']);
  const pieces = piecesOf(delta['content']);
  if (choice === undefined) return [JSON.stringify(plainError(chunk))];
  if (pieces === null) return [data];
  const { content: _list, ...rest } = delta;
  const { usage: _counts, ...head } = chunk;
  return [
    ...pieces.map((piece) => ({ ...head, choices: [{ index: 0, delta: piece }] })),
    { ...chunk, choices: [{ ...choice, delta: rest }] },
  ].map((each) => JSON.stringify(each));
}

/** Returns the parsed data of an event; null if it is no object, which the chat reader handles. */
function parsed(data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
