import { scanJsonShape } from './json-shape';

/**
 * Token counts guessed from bytes, for holds and for upstreams that report nothing. A tokenizer would be
 * more exact, but hostile text can keep one busy for seconds.
 */
const BYTES_PER_TOKEN = 4;

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** About how many tokens the prompt of a request body, valid JSON, holds. Token ids count one each. */
export function estimatePromptTokens(body: Buffer): number {
  return tokensOfBytes(scanJsonShape(body).promptBytes);
}
