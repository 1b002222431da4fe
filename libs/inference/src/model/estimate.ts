import { JsonCursor } from '../dialects/json-cursor';

/**
 * Token counts guessed from bytes, for holds and for upstreams that report nothing. A tokenizer would be
 * more exact, but hostile text can keep one busy for seconds.
 */
const BYTES_PER_TOKEN = 4;

/** What a picture, a sound or a file counts, whatever its size on the wire. */
const MEDIA_BYTES = 4_000;

const PROMPT_MEMBERS = new Set(['messages', 'tools', 'input', 'instructions', 'system', 'prompt']);
const MEDIA_MEMBERS = new Set(['data', 'file_data']);
const DATA_URL = Buffer.from('"data:');

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** About how many tokens the prompt of a request body holds. Token ids count one each. Throws MalformedJson. */
export function estimatePromptTokens(body: Buffer): number {
  const cursor = new JsonCursor(body);
  let bytes = 0;
  cursor.readObject((key) => {
    if (PROMPT_MEMBERS.has(key)) bytes += textBytes(cursor, key);
  });
  return tokensOfBytes(bytes);
}

/** The bytes of all text in the value at the cursor, which ends up behind it. */
function textBytes(cursor: JsonCursor, key: string): number {
  let bytes = 0;
  if (cursor.isObject()) {
    cursor.readObject((name) => {
      bytes += textBytes(cursor, name);
    });
    return bytes;
  }
  if (cursor.isArray()) {
    cursor.readArray(() => {
      bytes += textBytes(cursor, key);
    });
    return bytes;
  }
  const isString = cursor.isString();
  const start = cursor.position;
  cursor.skipValue();
  if (!isString) return BYTES_PER_TOKEN;
  const isMedia = MEDIA_MEMBERS.has(key) || cursor.bytes.subarray(start, start + DATA_URL.length).equals(DATA_URL);
  return isMedia ? MEDIA_BYTES : cursor.position - start - 2;
}
