import type { Part, ReasoningPart } from '../../model/conversation';

/**
 * Proof of thoughts on the way to a caller and back.
 *
 * The upstream signs thoughts, but texts, calls and pictures as well, and wants each signature back on the part
 * that had it. The model knows signatures of thoughts only. So every other one travels as an encrypted thought of
 * its own, which all dialects of callers carry: beside a call it has the id of the call, beside a text or a picture
 * it has none (or one that the dialect itself gives to thoughts).
 */
export const OWN_FORMAT = 'google-gemini-v1';

/** Accepted in place of proof where there can be none: for calls that another model made. */
export const NO_PROOF = 'skip_thought_signature_validator';

/** The id that `/responses` gives to thoughts that have none. */
const GIVEN_ID = /^rs_/;

/** The thought that carries the signature of a part: of the call of that id, or of the text or picture before it. */
export function signatureThought(signature: string, callId?: string): ReasoningPart {
  return {
    type: 'reasoning',
    encrypted: signature,
    ...(callId !== undefined && { id: callId }),
    format: OWN_FORMAT,
  };
}

/** The signatures of a turn by the part that had them. Those whose part is gone are left out. */
export function signaturesIn(parts: readonly Part[]): ReadonlyMap<Part, string> {
  const signatures = new Map<Part, string>();
  parts.forEach((part, index) => {
    if (part.type !== 'reasoning' || part.format !== OWN_FORMAT || part.encrypted === undefined) return;
    const owner = ownerOf(part, index, parts, signatures);
    if (owner !== undefined) signatures.set(owner, part.encrypted);
  });
  return signatures;
}

function ownerOf(
  { id }: ReasoningPart,
  index: number,
  parts: readonly Part[],
  signatures: ReadonlyMap<Part, string>,
): Part | undefined {
  const call = parts.find((part) => part.type === 'tool-call' && part.id === id);
  if (call !== undefined) return call;
  if (id !== undefined && !GIVEN_ID.test(id)) return undefined;
  const isFree = (part: Part) => (part.type === 'text' || part.type === 'image') && !signatures.has(part);
  // Dialects that keep thoughts apart from the rest give them before it.
  return parts.slice(0, index).findLast(isFree) ?? parts.slice(index + 1).find(isFree);
}
