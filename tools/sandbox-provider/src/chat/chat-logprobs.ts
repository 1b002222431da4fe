import { hash } from 'node:crypto';
import { pieces } from '../answers/tokens';

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface ChatLogprobs {
  readonly content: readonly (TokenLogprob & { readonly top_logprobs: readonly TokenLogprob[] })[];
  readonly refusal: null;
}

/**
 * Returns log probabilities of the words of a text: invented, but the same for the same word, and decreasing in each
 * list.
 */
export function logprobsOf(text: string, alternatives: number): ChatLogprobs {
  const content = pieces(text).map((token) => {
    const logprob = -hash('sha256', token, 'buffer').readUInt8(0) / 512;
    const chosen = entry(token, logprob);
    const others = Array.from({ length: Math.max(0, alternatives - 1) }, (_, index) =>
      entry(` sandbox${index + 1}`, logprob - index - 1),
    );
    return { ...chosen, top_logprobs: alternatives === 0 ? [] : [chosen, ...others] };
  });
  return { content, refusal: null };
}

function entry(token: string, logprob: number): TokenLogprob {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
