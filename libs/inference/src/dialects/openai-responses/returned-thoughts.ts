import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { JsonCursor } from '../../json/json-cursor';
import { findMember, memberEdits, scanMembersAt, type ByteEdit, type ScannedObject } from '../../json/json-members';
import { reasoningFormatOf } from './reasoning';

/** What callers are told of a thought, and the API refuses in one that comes back. */
const OURS: readonly string[] = ['format', 'signature', 'status'];

const NO_EDITS: readonly ByteEdit[] = [];
const REASONING = Buffer.from('"reasoning"');
const EMPTY = new Set(['null', '""', '[]']);

interface Item {
  readonly start: number;
  readonly end: number;
  readonly isKept: boolean;
}

/**
 * The edits, in order, that make thoughts of earlier answers in a request's `input` fit for an upstream. One without
 * its text or seal goes no further, for nothing is stored there, and neither does one that another kind of provider
 * has sealed. An input of nothing else is left as it is.
 */
export function returnedThoughtEdits(request: ScannedObject, endpoint: Endpoint, log?: LossLog): readonly ByteEdit[] {
  const { bytes } = request;
  const input = findMember(request, 'input');
  if (input === undefined || !bytes.subarray(input.valueStart, input.valueEnd).includes(REASONING)) return NO_EDITS;
  const cursor = new JsonCursor(bytes, input.valueStart);
  if (!cursor.isArray()) return NO_EDITS;
  const items: Item[] = [];
  const edits: ByteEdit[] = [];
  cursor.readArray(() => {
    const start = cursor.position;
    const item = cursor.isObject() ? scanMembersAt(cursor) : cursor.skipValue();
    const isThought = item && textOf(item, 'type') === '"reasoning"';
    const isKept = !isThought || isWelcome(item, reasoningFormatOf(endpoint));
    items.push({ start, end: cursor.position, isKept });
    if (isThought && isKept) edits.push(...memberEdits(item, { remove: OURS }));
  });
  if (!items.some(({ isKept }) => isKept) || items.every(({ isKept }) => isKept)) return edits;
  log?.drop('reasoning');
  return [...edits, ...removals(items)].sort((one, other) => one.start - other.start);
}

function isWelcome(item: ScannedObject, format: string): boolean {
  const said = textOf(item, 'format') ?? 'null';
  if (said !== 'null' && said !== '"unknown"' && said !== JSON.stringify(format)) return false;
  return ['encrypted_content', 'content'].some((name) => !EMPTY.has(textOf(item, name) ?? 'null'));
}

function textOf(item: ScannedObject, name: string): string | undefined {
  const member = findMember(item, name);
  return member && item.bytes.toString('utf8', member.valueStart, member.valueEnd);
}

/** Each with the comma that parts it from what stays: the one before it, or where nothing stays before it the next. */
function removals(items: readonly Item[]): ByteEdit[] {
  const first = items.findIndex(({ isKept }) => isKept);
  return items.flatMap(({ start, end, isKept }, index) => {
    if (isKept) return [];
    if (index < first) return { start, end: items[index + 1]!.start, text: '' };
    return { start: items[index - 1]!.end, end, text: '' };
  });
}
