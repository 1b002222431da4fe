import { defined, numberOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { ReasoningDelta, ServerToolPart } from '../../model/canonical-answer';
import type { ReasoningFormat, ReasoningPart } from '../../model/conversation';

const FORMATS: readonly ReasoningFormat[] = [
  'unknown',
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'bedrock-openai-responses-v1',
  'bedrock-xai-responses-v1',
  'xai-responses-v1',
  'meta-responses-v1',
  'anthropic-claude-v1',
  'google-gemini-v1',
];

/** A piece of a thought. Pieces of one thought have the same `key`. */
export interface ThoughtPiece {
  readonly key: string | null;
  readonly delta: ReasoningDelta;
}

/** Returns the thoughts in a message or delta, from whichever of the three fields it has. */
export function readThoughts(source: JsonObject): readonly ThoughtPiece[] {
  const details = objectsOf(source['reasoning_details']).flatMap((detail) => readDetail(detail) ?? []);
  // Upstreams that send details also send the same text in `reasoning`.
  if (details.some(({ delta }) => delta.text || delta.summary)) return details;
  const text = stringOf(source['reasoning']) || stringOf(source['reasoning_content']);
  return text ? [{ key: null, delta: { text } }, ...details] : details;
}

/**
 * Returns a thought in the canonical form; null if the detail is no thought, such as the record of a tool that the
 * upstream ran.
 */
function readDetail(detail: JsonObject): ThoughtPiece | null {
  const content = contentOf(detail);
  if (content === null) return null;
  const index = numberOf(detail['index']);
  const id = stringOf(detail['id']);
  const key = index === undefined ? (id ?? null) : String(index);
  const format = FORMATS.find((known) => known === detail['format']);
  return { key, delta: defined({ ...content, id, format }) };
}

/** Returns whether a detail is a thought, rather than the record of a tool or of a kind that is not known. */
export function isThought(detail: JsonObject): boolean {
  return contentOf(detail) !== null;
}

function contentOf(detail: JsonObject): ReasoningDelta | null {
  if (detail['type'] === 'reasoning.text') {
    return { text: stringOf(detail['text']), signature: stringOf(detail['signature']) };
  }
  if (detail['type'] === 'reasoning.summary') return { summary: stringOf(detail['summary']) };
  if (detail['type'] === 'reasoning.encrypted') return { encrypted: stringOf(detail['data']) };
  return null;
}

/** Decides which pieces belong to one thought. Keeps none of its text. */
export class Thought {
  readonly #key: string | null;
  #seen: ReasoningDelta = {};

  constructor(key: string | null) {
    this.#key = key;
  }

  /** Returns whether a piece belongs to this thought. A thought has one signature or encrypted text, at its end. */
  isContinuedBy({ key, delta }: ThoughtPiece): boolean {
    const { signature, encrypted, id, format } = this.#seen;
    if (key !== this.#key) return false;
    if (signature !== undefined && (delta.signature !== undefined || delta.text !== undefined)) return false;
    if (encrypted !== undefined && delta.encrypted !== undefined) return false;
    return isSame(id, delta.id) && isSame(format, delta.format);
  }

  /** Adds the piece and returns its new fields; an id or format that is known already is omitted. */
  add({ text, summary, ...once }: ReasoningDelta): ReasoningDelta {
    const { id, format } = this.#seen;
    this.#seen = { ...this.#seen, ...once };
    return defined({
      text,
      summary,
      ...once,
      id: id === undefined ? once.id : undefined,
      format: format === undefined ? once.format : undefined,
    });
  }
}

function isSame(known: string | undefined, next: string | undefined): boolean {
  return known === undefined || next === undefined || known === next;
}

export function toReasoningParts(pieces: readonly ThoughtPiece[]): ReasoningPart[] {
  const parts: ReasoningPart[] = [];
  let thought: Thought | undefined;
  for (const piece of pieces) {
    if (!thought?.isContinuedBy(piece)) {
      thought = new Thought(piece.key);
      parts.push({ type: 'reasoning' });
    }
    parts.push(grown(parts.pop()!, thought.add(piece.delta)));
  }
  return parts;
}

/** The thought with one more piece. */
function grown(part: ReasoningPart, { text, summary, ...once }: ReasoningDelta): ReasoningPart {
  return defined({ ...part, ...once, text: joined(part.text, text), summary: joined(part.summary, summary) });
}

function joined(head: string | undefined, tail: string | undefined): string | undefined {
  return head === undefined ? tail : head + (tail ?? '');
}

/** Writes a thought, or a piece of one, as details with one index. */
export function writeDetails(thought: ReasoningDelta, index: number): object[] {
  const { text, summary, signature, encrypted, id, format } = thought;
  const rest = { id, format, index };
  const details: object[] = [];
  if (summary !== undefined) details.push(defined({ type: 'reasoning.summary', summary, ...rest }));
  const isBare = summary === undefined && encrypted === undefined;
  if (text !== undefined || signature !== undefined || isBare) {
    details.push(defined({ type: 'reasoning.text', text, signature, ...rest }));
  }
  if (encrypted !== undefined) details.push(defined({ type: 'reasoning.encrypted', data: encrypted, ...rest }));
  return details;
}

/** Writes a use of a server's tool as a detail of the thoughts, which is where this API shows it. */
export function writeToolUse({ tool, record }: Pick<ServerToolPart, 'tool' | 'record'>, index: number): object[] {
  if (record === undefined) return [];
  const { callId, arguments: args, result } = record;
  return [
    { type: 'reasoning.server_tool_call', tool_name: tool, tool_call_id: callId, arguments: args, result, index },
  ];
}

/** What a thought says in plain words. */
export function plainThought({ text, summary }: ReasoningDelta): string {
  return text ?? summary ?? '';
}
