import { CallPieces } from './openai-chat/call-pieces';
import { cohereChatTranslation } from './cohere-chat';
import { CharacterPlaces } from './cohere-chat/character-places';
import { readCitation } from './cohere-chat/citations';
import { annotationsOf, sourcesOf } from './google-generate-content/citations';
import { googleGenerateContent } from './google-generate-content';
import { anEndpoint } from '../testing';

const MIB = 1024 * 1024;
const MANY = 20_000;
/** Of processor time. Each of these takes well under half a second; what takes the square takes many seconds. */
const MOST_MS = 2_500;

function msOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe('an answer that is made to take long', () => {
  it('has many sources of a long text of Gemini', () => {
    const text = 'a'.repeat(2 * MIB);
    const segment = { startIndex: text.length - 1, endIndex: text.length };
    const groundingSupports = times(MANY, () => ({ segment, groundingChunkIndices: [0] }));
    const groundingChunks = [{ web: { uri: 'https://a.example', title: '' } }];
    const candidate = { groundingMetadata: { groundingChunks, groundingSupports } };
    expect(msOf(() => annotationsOf(sourcesOf(candidate), text))).toBeLessThan(MOST_MS);
  });

  it('has many texts of Gemini and as many sources', () => {
    const parts = times(MANY, (index) => ({ text: 'a', thought: index % 2 === 0 }));
    const groundingSupports = times(MANY, (partIndex) => ({
      segment: { partIndex, endIndex: 1 },
      groundingChunkIndices: [0],
    }));
    const citationSources = times(MANY, () => ({ uri: 'https://b.example', endIndex: 1 }));
    const answer = {
      candidates: [
        {
          content: { parts },
          citationMetadata: { citationSources },
          groundingMetadata: { groundingSupports, groundingChunks: [{ web: { uri: 'https://a.example' } }] },
        },
      ],
    };
    expect(msOf(() => googleGenerateContent.readAnswer(answer, anEndpoint()))).toBeLessThan(MOST_MS);
  });

  it('has many citations of a long text of Cohere', () => {
    const text = 'a'.repeat(2 * MIB);
    const places = new CharacterPlaces();
    const citation = { start: text.length - 2, end: text.length, text: 'zz', sources: [] };
    expect(msOf(() => times(MANY, () => readCitation(citation, text, places)))).toBeLessThan(MOST_MS);
  });

  it('has many texts of Cohere and as many citations', () => {
    const content = times(MANY, () => ({ type: 'text', text: 'a' }));
    const citations = times(MANY, (content_index) => ({ content_index, start: 0, end: 1, text: 'a', sources: [] }));
    const answer = { message: { content, citations }, finish_reason: 'COMPLETE' };
    expect(msOf(() => cohereChatTranslation.readAnswer(answer, anEndpoint()))).toBeLessThan(MOST_MS);
  });

  it('adds to a call that waits for its turn, a byte at a time', () => {
    const onBroken = (reason: string): never => {
      throw new Error(reason);
    };
    const calls = new CallPieces({ onTurn: () => undefined, onText: () => undefined, onBroken });
    const taken = msOf(() => {
      calls.push({ index: 0, id: 'a', name: 'f', text: '{' });
      calls.push({ index: 1, id: 'b', name: 'f', text: `{"${'a'.repeat(MIB)}` });
      for (let id = 0; id < 1_000; id += 1) calls.push({ index: 1, id: `c${id}`, name: 'f', text: 'a' });
    });
    expect(taken).toBeLessThan(MOST_MS);
  });
});

describe(CharacterPlaces.name, () => {
  it('finds characters of more than one unit, also of a text that grew', () => {
    const places = new CharacterPlaces();
    const text = `\u{1f600}${'a'.repeat(3_000)}`;
    expect([0, 1, 2, 2_500, 3_001, 9_999].map((at) => places.unitAt(text, at))).toEqual([0, 2, 3, 2_501, 3_002, 3_002]);
    expect(places.unitAt(`${text}\u{1f600}b`, 3_002)).toBe(3_004);
  });
});
