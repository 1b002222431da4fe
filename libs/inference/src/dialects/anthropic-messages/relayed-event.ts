import { JsonCursor, MalformedJson, type ByteEdit, type JsonMember, type ScannedObject } from '@libs/json';
import type { ProviderTool } from '../../pricing/tool-uses';
import type { TextCounter } from '../../model/text-tokens';
import { countWritten, readBlock } from './relayed-answer';

/** Result of scanning the data of a stream event once. */
export interface MessageEvent extends ScannedObject {
  readonly type: string;
  /** The provider tool that the block is a call of; null for other events. */
  readonly tool: ProviderTool | null;
  /** The event begins a compaction: a summary that replaces the context. */
  readonly isCompaction: boolean;
  /** Edits that add missing required fields to the block that the event opens. */
  readonly blockEdits: readonly ByteEdit[];
}

const EVENT_TYPE = /^[a-z_]{1,64}$/;

/**
 * Reads the data of an event, whose type is its `name` unless the data has a type; an event with an `error` needs none.
 * `text` counts texts, thoughts and tool inputs. Throws MalformedJson for anything but one JSON object with a type.
 */
export function readMessageEvent(data: Buffer, name: string | null, text: TextCounter): MessageEvent {
  const cursor = new JsonCursor(data);
  const members: JsonMember[] = [];
  const blockEdits: ByteEdit[] = [];
  const block = {
    edits: blockEdits,
    text,
    onTool: (tool: ProviderTool) => void (found.tool = tool),
    onCompaction: () => void (found.isCompaction = true),
  };
  const found = { type: name ?? '', tool: null as ProviderTool | null, isCompaction: false };
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    if (key === 'type') found.type = cursor.readStringOrNull() ?? found.type;
    else if (key === 'delta') countWritten(cursor, text);
    else if (key === 'content_block') readBlock(cursor, block);
    else cursor.skipValue();
    members.push({ key, keyStart, valueStart, valueEnd: cursor.position });
  });
  if (found.type === '' && members.some(({ key }) => key === 'error')) found.type = 'error';
  const closeBrace = cursor.position - 1;
  cursor.expectEnd();
  if (!EVENT_TYPE.test(found.type)) throw new MalformedJson('an event has no type', 0);
  return { ...found, bytes: data, members, closeBrace, blockEdits };
}
