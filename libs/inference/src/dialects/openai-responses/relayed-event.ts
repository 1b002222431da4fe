import { JsonCursor, type JsonMember, type ScannedObject } from '@libs/json';
import { readUpstreamResponse, type UpstreamResponse } from './relayed-answer';

/** Result of scanning one event of a streamed response. */
export interface StreamEvent extends ScannedObject {
  /** Type of the event; null if the data is not an event of this protocol. */
  readonly type: string | null;
  readonly sequence: JsonMember | null;
  /** The response inside the event; read only for events that begin or end a response. */
  readonly response: UpstreamResponse | null;
  readonly item: JsonMember | null;
  readonly delta: JsonMember | null;
  /** True if the event reports an error, in any form. */
  readonly isError: boolean;
}

/** Reads the event in one pass. Throws MalformedJson for anything but one JSON object. */
export function readStreamEvent(bytes: Buffer): StreamEvent {
  const cursor = new JsonCursor(bytes);
  const members: JsonMember[] = [];
  const found: { -readonly [name in keyof StreamEvent]?: StreamEvent[name] } = {};
  let hasError = false;
  cursor.readObject((key, keyStart) => {
    const valueStart = cursor.position;
    if (key === 'error' && !cursor.isNull()) hasError = true;
    if (key === 'type') found.type = cursor.readStringOrNull();
    else if (key === 'response' && cursor.isObject()) found.response = readUpstreamResponse(cursor);
    else cursor.skipValue();
    const member = { key, keyStart, valueStart, valueEnd: cursor.position };
    members.push(member);
    if (key === 'sequence_number') found.sequence = member;
    else if (key === 'item') found.item = member;
    else if (key === 'delta') found.delta = member;
  });
  const closeBrace = cursor.position - 1;
  cursor.expectEnd();
  const { type = null, sequence = null, response = null, item = null, delta = null } = found;
  const isError = type === 'error' || type === 'response.error' || (type === null && hasError);
  return { bytes, members, closeBrace, type, sequence, response, item, delta, isError };
}
