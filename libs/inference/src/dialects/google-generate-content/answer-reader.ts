import { defined, isObject, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerPart, CanonicalAnswer, Choice } from '../../model/canonical-answer';
import { brokenAnswer } from '../../wire/upstream-error';
import { googleErrorInside } from './error';
import type { Endpoint } from '../../catalogue/catalogue';
import { readPieces, type Piece } from './content-reader';
import { finishReasonOf, nativeReasonOf } from './stop-reason';
import { readLogprobs } from './logprobs';
import { annotationsOf, sourcesOf, type Source } from './citations';
import { OWN_FORMAT, signatureThought } from './reasoning';
import { readServiceTier, readUsage } from './usage';

/** A complete `GenerateContentResponse`. */
export function readAnswer(body: unknown, { provider }: Endpoint): CanonicalAnswer {
  if (!isObject(body)) throw brokenAnswer(provider, 'the answer is no object');
  if (isObject(body['error'])) throw googleErrorInside(provider, body);
  const choices = objectsOf(body['candidates']).filter(isAnswer).map(readChoice);
  const blocked = readBlock(body);
  if (choices.length === 0 && blocked === null) throw brokenAnswer(provider, 'the answer has no candidates');
  const usage = readUsage(body['usageMetadata']);
  return defined({
    upstreamId: stringOf(body['responseId']) ?? null,
    createdAt: readCreation(body),
    choices: choices.length === 0 ? [blocked!] : choices,
    usage: usage?.usage ?? null,
    units: usage?.units,
    ...readServiceTier(body['usageMetadata']),
  });
}

function isAnswer({ content, finishReason }: JsonObject): boolean {
  return content !== undefined || finishReason !== undefined;
}

/** Returns the time at which the answer was begun, in Unix seconds; only Vertex AI reports it. */
export function readCreation(response: JsonObject): number | null {
  const createdMs = Date.parse(stringOf(response['createTime']) ?? '');
  return Number.isNaN(createdMs) ? null : Math.floor(createdMs / 1_000);
}

/** Returns the choice for a prompt that the upstream refused, which has no candidates; null for other answers. */
export function readBlock(response: JsonObject): Choice | null {
  const feedback = objectOf(response['promptFeedback']);
  const reason = stringOf(feedback['blockReason']);
  if (reason === undefined) return null;
  const words = stringOf(feedback['blockReasonMessage']);
  return {
    parts: words ? [{ type: 'refusal', text: words }] : [],
    finishReason: 'content_filter',
    nativeFinishReason: reason,
  };
}

function readChoice(candidate: JsonObject): Choice {
  const pieces = readPieces(candidate);
  const sources = sourcesByText(candidate, pieces);
  const parts = pieces.flatMap((piece) => partsOf(piece, sources));
  const native = nativeReasonOf(candidate);
  const finishReason = finishReasonOf(
    native,
    pieces.some(({ kind }) => kind === 'call'),
  );
  return defined({
    parts: [...parts, ...explanationOf(candidate, finishReason === 'content_filter' && parts.length === 0)],
    finishReason,
    nativeFinishReason: native,
    logprobs: readLogprobs(candidate),
  });
}

/** Returns the upstream's reason if a filter removed the whole answer. */
function explanationOf(candidate: JsonObject, isSilenced: boolean): AnswerPart[] {
  const words = stringOf(candidate['finishMessage']);
  return isSilenced && words ? [{ type: 'refusal', text: words }] : [];
}

function partsOf(piece: Piece, sources: ReadonlyMap<Piece | undefined, readonly Source[]>): AnswerPart[] {
  const { kind, signature } = piece;
  if (kind === 'thought') {
    const thought: AnswerPart = { type: 'reasoning', text: piece.text, format: OWN_FORMAT };
    return [defined({ ...thought, signature })];
  }
  if (kind === 'call') {
    const { id, name, arguments: text } = piece;
    const call: AnswerPart = { type: 'tool-call', id, name, arguments: text };
    return signature === undefined ? [call] : [signatureThought(signature, id), call];
  }
  const proof = signature === undefined ? [] : [signatureThought(signature)];
  if (kind === 'image') return [{ type: 'generated-image', url: piece.url }, ...proof];
  if (piece.text === '') return proof;
  const annotations = annotationsOf(sources.get(piece) ?? [], piece.text);
  return [{ type: 'text', text: piece.text, ...(annotations.length > 0 && { annotations }) }, ...proof];
}

/** Groups sources by their text: the part that a segment names, else the first text. */
function sourcesByText(candidate: JsonObject, pieces: readonly Piece[]): Map<Piece | undefined, Source[]> {
  const texts = pieces.filter(({ kind }) => kind === 'text');
  const byIndex = new Map<unknown, Piece>();
  for (const text of texts) if (!byIndex.has(text.index)) byIndex.set(text.index, text);
  return Map.groupBy(sourcesOf(candidate), ({ segment: { partIndex = 0 } }) => byIndex.get(partIndex) ?? texts[0]);
}
