import { JsonCursor, findMember, memberEdits, scanMembersAt, type ByteEdit, type ScannedObject } from '@libs/json';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { SEAL_MARK } from '../sealed-thoughts';
import { reasoningFormatOf } from './reasoning';

/** Fields that the gateway adds to a thought for callers. OpenAI refuses them in a request. */
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
 * Returns the edits, in order, that make thoughts of earlier answers in `input` acceptable to an upstream. Removes
 * thoughts with neither text nor encrypted content, because the upstream has not stored them, and thoughts that another
 * kind of provider encrypted. An input that would become empty is not changed.
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
  // A thought of another API, sealed for the caller: only the gateway can read it.
  if (textOf(item, 'encrypted_content')?.startsWith(`"${SEAL_MARK}`) === true) return false;
  return ['encrypted_content', 'content'].some((name) => !EMPTY.has(textOf(item, name) ?? 'null'));
}

function textOf(item: ScannedObject, name: string): string | undefined {
  const member = findMember(item, name);
  return member && item.bytes.toString('utf8', member.valueStart, member.valueEnd);
}

/** Removes each item with the comma before it, or, if no item before it is kept, the comma after it. */
function removals(items: readonly Item[]): ByteEdit[] {
  const first = items.findIndex(({ isKept }) => isKept);
  return items.flatMap(({ start, end, isKept }, index) => {
    if (isKept) return [];
    if (index < first) return { start, end: items[index + 1]!.start, text: '' };
    return { start: items[index - 1]!.end, end, text: '' };
  });
}
