import { JsonCursor, findMember, memberEdits, scanMembersAt, type ByteEdit, type ScannedObject } from '@libs/json';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { removalsOf, type ListElement } from '../list-removals';
import { memberText } from '../request-members';
import { SEAL_MARK } from '../sealed-thoughts';
import { reasoningFormatOf } from './reasoning';

/** Fields that the gateway adds to a thought for callers. OpenAI refuses them in a request. */
const OURS: readonly string[] = ['format', 'signature', 'status'];

const NO_EDITS: readonly ByteEdit[] = [];
const REASONING = Buffer.from('"reasoning"');
const EMPTY = new Set(['null', '""', '[]']);

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
  const items: ListElement[] = [];
  const edits: ByteEdit[] = [];
  cursor.readArray(() => {
    const start = cursor.position;
    const item = cursor.isObject() ? scanMembersAt(cursor) : cursor.skipValue();
    const isThought = item && memberText(item, 'type')?.toString() === '"reasoning"';
    const isKept = !isThought || isWelcome(item, reasoningFormatOf(endpoint));
    items.push({ start, end: cursor.position, isKept });
    if (isThought && isKept) edits.push(...memberEdits(item, { remove: OURS }));
  });
  if (!items.some(({ isKept }) => isKept) || items.every(({ isKept }) => isKept)) return edits;
  log?.drop('reasoning');
  return [...edits, ...removalsOf(items)].sort((one, other) => one.start - other.start);
}

function isWelcome(item: ScannedObject, format: string): boolean {
  const said = memberText(item, 'format')?.toString() ?? 'null';
  if (said !== 'null' && said !== '"unknown"' && said !== JSON.stringify(format)) return false;
  // A thought of another API, sealed for the caller: only the gateway can read it.
  if (memberText(item, 'encrypted_content')?.toString()?.startsWith(`"${SEAL_MARK}`) === true) return false;
  return ['encrypted_content', 'content'].some((name) => !EMPTY.has(memberText(item, name)?.toString() ?? 'null'));
}
