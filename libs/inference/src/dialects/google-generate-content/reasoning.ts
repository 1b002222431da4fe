import type { Part, ReasoningPart } from '../../model/conversation';

/**
 * Carries the upstream's signatures to a caller and back.
 *
 * The upstream signs thoughts, but also texts, calls and pictures, and requires each signature again on the part that
 * had it. Our conversations can hold signatures of thoughts only. So every other signature becomes a separate encrypted
 * thought, which every caller's dialect can carry. The signature of a call has the id of the call. The signature of a
 * text or picture has no id, or one that the dialect itself gives to thoughts.
 */
export const OWN_FORMAT = 'google-gemini-v1';

/** Value that the upstream accepts instead of a signature, for calls that another model made. */
export const NO_PROOF = 'skip_thought_signature_validator';

/** The form of ids that `/responses` gives to thoughts without one. */
const GIVEN_ID = /^rs_/;

/**
 * Returns a thought that carries the signature of a part: of the call with that id, or of the text or picture before
 * it.
 */
export function signatureThought(signature: string, callId?: string): ReasoningPart {
  return {
    type: 'reasoning',
    encrypted: signature,
    ...(callId !== undefined && { id: callId }),
    format: OWN_FORMAT,
  };
}

/** Returns the signatures of a turn by the part that had them. Leaves out signatures whose part was removed. */
export function signaturesIn(parts: readonly Part[]): ReadonlyMap<Part, string> {
  const signatures = new Map<Part, string>();
  const calls = new Map<string | undefined, Part>();
  for (const part of parts) if (part.type === 'tool-call' && !calls.has(part.id)) calls.set(part.id, part);
  const unsigned = new UnsignedParts(parts, signatures);
  parts.forEach((part, index) => {
    if (isSignable(part)) unsigned.pass(part);
    if (part.type !== 'reasoning' || part.format !== OWN_FORMAT || part.encrypted === undefined) return;
    const { id } = part;
    const isOfCall = id !== undefined && !GIVEN_ID.test(id);
    const owner = calls.get(id) ?? (isOfCall ? undefined : unsigned.nearest(index));
    if (owner !== undefined) signatures.set(owner, part.encrypted);
  });
  return signatures;
}

function isSignable({ type }: Part): boolean {
  return type === 'text' || type === 'image';
}

/**
 * Texts and pictures without a signature. Looks at each part once, so that the time grows linearly with the number of
 * thoughts.
 */
class UnsignedParts {
  readonly #before: Part[] = [];
  #ahead = 0;

  constructor(
    private readonly parts: readonly Part[],
    private readonly signatures: ReadonlyMap<Part, string>,
  ) {}

  /** Notes a signable part that comes before the next thoughts. */
  pass(part: Part): void {
    if (!this.signatures.has(part)) this.#before.push(part);
  }

  /** Returns the last part before the thought, else the first after it: some dialects put all thoughts first. */
  nearest(index: number): Part | undefined {
    const before = this.#before.pop();
    if (before !== undefined) return before;
    this.#ahead = Math.max(this.#ahead, index + 1);
    while (this.#ahead < this.parts.length && !this.#isUnsigned(this.parts[this.#ahead]!)) this.#ahead += 1;
    return this.parts[this.#ahead];
  }

  #isUnsigned(part: Part): boolean {
    return isSignable(part) && !this.signatures.has(part);
  }
}
