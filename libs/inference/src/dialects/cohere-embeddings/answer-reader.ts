import { JsonCursor, MalformedJson, defined } from '@libs/json';
import { brokenAnswer, notAnswered } from '../../wire/upstream-error';
import type { Provider } from '../../catalogue/catalogue';

/** Content of one upstream answer. Vectors are the upstream's JSON text. */
export interface EmbedAnswer {
  id: string | null;
  readonly vectors: Buffer[];
  textTokens: number | null;
  imageTokens: number | null;
}

/** Joins the answers of several calls, in order, into one answer in OpenAI's form. Adds up the billed tokens. */
export function joinEmbedAnswers(read: readonly EmbedAnswer[]): Buffer {
  const head = defined({ object: 'list', id: read[0]?.id ?? undefined, usage: usageOf(read) });
  const pieces: Buffer[] = [Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[`)];
  read
    .flatMap(({ vectors }) => vectors)
    .forEach((vector, index) => {
      const item = `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`;
      pieces.push(Buffer.from(item), vector, CLOSE);
    });
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}

const CLOSE = Buffer.from('}');

/** Undefined unless every call was counted. */
function usageOf(answers: readonly EmbedAnswer[]): object | undefined {
  if (answers.some(({ textTokens, imageTokens }) => textTokens === null && imageTokens === null)) return undefined;
  const sum = (name: 'textTokens' | 'imageTokens'): number =>
    answers.reduce((total, answer) => total + (answer[name] ?? 0), 0);
  const [text, image] = [sum('textTokens'), sum('imageTokens')];
  const details = { text_tokens: text, image_tokens: image };
  return { prompt_tokens: text + image, total_tokens: text + image, prompt_tokens_details: details };
}

/** Reads an answer. @throws AppError without a vector for each input: provider_unavailable, or its own error */
export function readEmbedAnswer(body: Buffer, inputs: number, provider: Provider): EmbedAnswer {
  try {
    const answer = readAnswer(body);
    if (answer?.vectors.length === inputs) return answer;
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
  throw notAnswered(provider, body, 'an answer does not hold one vector for each input');
}

/** Returns the vectors and usage of an answer; null if it has no vectors. Throws MalformedJson. */
function readAnswer(body: Buffer): EmbedAnswer | null {
  const cursor = new JsonCursor(body);
  const answer: EmbedAnswer = { id: null, vectors: [], textTokens: null, imageTokens: null };
  let hasVectors = false;
  cursor.readObject((key) => {
    if (key === 'id') answer.id = cursor.readStringOrNull();
    else if (key === 'meta') readMeta(cursor, answer);
    else if (key === 'embeddings' && cursor.isObject()) {
      cursor.readObject((type) => {
        if (type !== 'float' || !cursor.isArray()) return;
        hasVectors = true;
        cursor.readArray(() => {
          const start = cursor.position;
          cursor.skipValue();
          answer.vectors.push(body.subarray(start, cursor.position));
        });
      });
    }
  });
  cursor.expectEnd();
  return hasVectors ? answer : null;
}

function readMeta(cursor: JsonCursor, answer: EmbedAnswer): void {
  if (!cursor.isObject()) return;
  cursor.readObject((key) => {
    if (key !== 'billed_units' || !cursor.isObject()) return;
    cursor.readObject((unit) => {
      if (unit === 'input_tokens') answer.textTokens = cursor.readNumberOrNull();
      else if (unit === 'image_tokens') answer.imageTokens = cursor.readNumberOrNull();
    });
  });
}
