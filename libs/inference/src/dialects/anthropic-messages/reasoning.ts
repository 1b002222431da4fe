import type { ReasoningPart } from '../../model/conversation';
import { seal, unseal } from '../sealed-thoughts';

/**
 * A thinking block has one opaque text, the signature; a redacted one has only `data`. Thoughts in this API's own format
 * keep theirs. For any other format the opaque text seals all content of the part that has no field of its own in the
 * block. So a caller that sends the block back returns the complete part.
 */
const OWN_FORMAT = 'anthropic-claude-v1';

export type ThinkingBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string };

/** Returns the thinking block of a part; null if the part is empty. */
export function thinkingBlock(part: ReasoningPart): ThinkingBlock | null {
  const own = part.format === OWN_FORMAT ? ownBlock(part) : null;
  if (own !== null) return own;
  const { type: _type, text, ...rest } = part;
  if (text === undefined && part.summary !== undefined) {
    const { summary, ...opaque } = rest;
    return { type: 'thinking', thinking: summary!, signature: seal({ ...opaque, shows: 'summary' }) };
  }
  if (text !== undefined) return { type: 'thinking', thinking: text, signature: seal(rest) };
  const data = seal(rest);
  return data === '' ? null : { type: 'redacted_thinking', data };
}

/** Returns the thinking block of a part for an upstream, which accepts only thoughts in its own format. */
export function nativeThinkingBlock({ text, signature, encrypted, format }: ReasoningPart): ThinkingBlock | null {
  if (format !== OWN_FORMAT) return null;
  if (signature !== undefined) return { type: 'thinking', thinking: text ?? '', signature };
  return encrypted === undefined ? null : { type: 'redacted_thinking', data: encrypted };
}

/** Returns the block of a part in this API's own format; null if a block would lose something. */
function ownBlock({ text, signature, encrypted, summary, id }: ReasoningPart): ThinkingBlock | null {
  if (summary !== undefined || id !== undefined) return null;
  if (encrypted !== undefined) {
    return text === undefined && signature === undefined ? { type: 'redacted_thinking', data: encrypted } : null;
  }
  return signature === undefined ? null : { type: 'thinking', thinking: text ?? '', signature };
}

/** Returns the part that a thinking block holds. The inverse of `thinkingBlock`. */
export function readThinking(thinking: string, signature: string): ReasoningPart {
  const opaque = unseal(signature);
  if (opaque === null) {
    const proof = signature === '' ? {} : { signature, format: OWN_FORMAT as typeof OWN_FORMAT };
    return { type: 'reasoning', ...(thinking !== '' && { text: thinking }), ...proof };
  }
  const { shows, ...rest } = opaque;
  return { type: 'reasoning', ...(shows === 'summary' ? { summary: thinking } : { text: thinking }), ...rest };
}

export function readRedacted(data: string): ReasoningPart {
  const opaque = unseal(data);
  return opaque === null
    ? { type: 'reasoning', encrypted: data, format: OWN_FORMAT }
    : { type: 'reasoning', ...opaque };
}
