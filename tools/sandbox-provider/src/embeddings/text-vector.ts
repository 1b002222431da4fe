const SHORTEST_GRAM = 3;
const LONGEST_GRAM = 5;
const WORD_WEIGHT = 1;
const GRAM_WEIGHT = 0.25;
/** Weight of words that say little about the topic of a text. */
const FAINT_WEIGHT = 0.1;
const FAINT_WORDS = new Set(
  (
    'a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its ' +
    'me my no not of on or our she so some than that the their them then there they this to up us was we were what when ' +
    'where which who will with would you your'
  ).split(' '),
);
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Returns a unit vector of hashed words and of hashed runs of three to five characters inside them: texts that share
 * words, or parts of words, have similar vectors. Each feature adds to one dimension, with a sign that depends on the
 * feature.
 */
export function vectorOfText(text: string, dimensions: number): Float32Array {
  const vector = new Float64Array(dimensions);
  // Without its diacritics a letter is the same in every form of a word.
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) addWord(vector, word);
  if (words.length === 0) addFeature(vector, `text:${text}`, WORD_WEIGHT);
  return normalised(vector);
}

/** Returns the vector of a text that was sent as token numbers: each number counts as a word. */
export function vectorOfTokens(tokens: readonly number[], dimensions: number): Float32Array {
  const vector = new Float64Array(dimensions);
  for (const token of tokens) addFeature(vector, `token:${token}`, WORD_WEIGHT);
  return normalised(vector);
}

function addWord(vector: Float64Array, word: string): void {
  const weight = FAINT_WORDS.has(word) ? FAINT_WEIGHT : 1;
  addFeature(vector, `word:${word}`, WORD_WEIGHT * weight);
  const padded = `^${word}$`;
  for (let length = SHORTEST_GRAM; length <= LONGEST_GRAM; length += 1) {
    for (let start = 0; start + length <= padded.length; start += 1) {
      addFeature(vector, padded.slice(start, start + length), GRAM_WEIGHT * weight);
    }
  }
}

function addFeature(vector: Float64Array, feature: string, weight: number): void {
  const hashed = hashOf(feature);
  const index = (hashed >>> 1) % vector.length;
  vector[index] = (vector[index] ?? 0) + ((hashed & 1) === 0 ? weight : -weight);
}

/** FNV-1a with a final mix, so that the low bit is as random as the others. */
function hashOf(text: string): number {
  let value = FNV_OFFSET;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), FNV_PRIME);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}

/**
 * A vector whose features cancelled each other out becomes the first unit vector, because a zero vector has no
 * direction.
 */
function normalised(vector: Float64Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (sum === 0) {
    vector[0] = 1;
    sum = 1;
  }
  const length = Math.sqrt(sum);
  return Float32Array.from(vector, (value) => value / length);
}
