import { JsonCursor, applyEdits, findMember, scanMembersAt, type ByteEdit, type ScannedObject } from '@libs/json';
import { removalsOf } from '../list-removals';
import { memberText } from '../request-members';
import { SEAL_MARK } from '../sealed-thoughts';
import { eachReturnedTurn } from './returned-turns';

/** Messages of a request without thoughts that this API's providers did not write. */
export interface OwnThoughts {
  readonly messages: Buffer;
  /** Whether the model's last turn called tools and lost all its thoughts: providers want one before such calls. */
  readonly isLastBare: boolean;
}

/** What requests with such blocks contain, as clients write JSON. */
const SIGNS: readonly Buffer[] = [`"${SEAL_MARK}`, '"signature":""', '"signature": ""'].map((text) =>
  Buffer.from(text),
);
/** Takes the place of a turn of nothing else, because a turn must not be empty. */
const NOTHING_SAID = '[{"type":"text","text":"."}]';

interface Block {
  readonly start: number;
  readonly end: number;
  readonly kind: 'own' | 'foreign' | 'call' | 'other';
}

/**
 * Returns `messages` without thinking blocks that carry a mark of the gateway, or no signature: they come from models
 * behind other APIs, and a provider of this API refuses a request with them. Null if there are none.
 */
export function withoutForeignThoughts(messages: Buffer): OwnThoughts | null {
  if (!SIGNS.some((sign) => messages.includes(sign))) return null;
  const edits: ByteEdit[] = [];
  let isLastBare = false;
  eachReturnedTurn(messages, (message) => {
    const blocks = blocksOf(message);
    edits.push(...removals(message, blocks));
    const kinds = new Set(blocks.map(({ kind }) => kind));
    isLastBare = kinds.has('foreign') && kinds.has('call') && !kinds.has('own');
  });
  return edits.length === 0 ? null : { messages: applyEdits(messages, edits), isLastBare };
}

function blocksOf(message: ScannedObject): Block[] {
  const content = findMember(message, 'content');
  const blocks: Block[] = [];
  if (content === undefined) return blocks;
  const cursor = new JsonCursor(message.bytes, content.valueStart);
  if (!cursor.isArray()) return blocks;
  cursor.readArray(() => {
    const start = cursor.position;
    const block = cursor.isObject() ? scanMembersAt(cursor) : cursor.skipValue();
    blocks.push({ start, end: cursor.position, kind: block ? kindOf(block) : 'other' });
  });
  return blocks;
}

function kindOf(block: ScannedObject): Block['kind'] {
  const type = memberText(block, 'type')?.toString();
  if (type === '"tool_use"') return 'call';
  if (type !== '"thinking"' && type !== '"redacted_thinking"') return 'other';
  const proof = memberText(block, type === '"thinking"' ? 'signature' : 'data')?.toString();
  return isOwnProof(proof) ? 'own' : 'foreign';
}

function isOwnProof(proof = 'null'): boolean {
  return proof !== 'null' && proof !== '""' && !proof.startsWith(`"${SEAL_MARK}`);
}

function removals(message: ScannedObject, blocks: readonly Block[]): ByteEdit[] {
  const elements = blocks.map(({ start, end, kind }) => ({ start, end, isKept: kind !== 'foreign' }));
  if (elements.every(({ isKept }) => isKept)) return [];
  if (elements.some(({ isKept }) => isKept)) return removalsOf(elements);
  const { valueStart: start, valueEnd: end } = findMember(message, 'content')!;
  return [{ start, end, text: NOTHING_SAID }];
}
