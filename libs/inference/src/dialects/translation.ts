import type { JsonObject } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { AnswerFrame } from '../model/answer-frame';
import type { AnswerEvent, CanonicalAnswer } from '../model/canonical-answer';
import type { CanonicalRequest } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import type { Usage } from '../pricing/usage';
import type { PicoUsd } from '../pricing/money';
import type { Cost } from '../pricing/price';
import type { Endpoint } from '../catalogue/catalogue';
import type { AnswerContext } from './dialect';

/** What an answer is charged: goes into its usage object. */
export interface Bill {
  readonly usage: Usage;
  /** Of the model alone. */
  readonly cost: Cost;
  /** Absent where the gateway ran no tools. */
  readonly tools?: ToolBill;
}

/** Uses and cost of the tools that the gateway ran itself. */
export interface ToolBill {
  /** Calls that the model asked for. */
  readonly requested: number;
  /** Those of them that were run. */
  readonly executed: number;
  readonly webSearches: number;
  readonly webFetches: number;
  readonly cost: PicoUsd;
}

/** The whole charge. */
export function totalOf({ cost, tools }: Bill): PicoUsd {
  return cost.totalCost + (tools?.cost ?? 0n);
}

/**
 * A dialect on the callers' side of a translation: requests are read, answers are written. Used only where
 * the upstream speaks another dialect; where it speaks the same one, the bytes pass (see Dialect).
 */
export interface CallerTranslation {
  /**
   * Returns the request in no dialect. `body` is a validated JSON object; fields that a `CanonicalRequest` cannot hold
   * are named in `unread`.
   *
   * @throws AppError invalid_request naming a member that cannot be understood
   */
  readRequest(body: Readonly<Record<string, unknown>>): CanonicalRequest;
  /** A complete answer, as the JSON that the caller gets. `request`: the caller's body, if it is parsed already. */
  writeAnswer(answer: CanonicalAnswer, bill: Bill, context: AnswerContext, request?: JsonObject): object;
  /** The writer does not keep `request`, which may be large. */
  writeStream(context: AnswerContext, request?: JsonObject): StreamWriter;
}

/** Turns the events of one answer into the pieces of one stream. */
export interface PieceWriter<Piece> {
  /** Possibly none. */
  write(event: AnswerEvent): readonly Piece[];
  /** The end of a whole stream: what is still open is closed, then the terminal event with the bill. */
  complete(bill: Bill): readonly Piece[];
  /** The end of a broken stream, in the dialect's own shape of an error. */
  fail(error: AppError, bill: Bill): readonly Piece[];
}

/** Writes server-sent events. */
export type StreamWriter = PieceWriter<AnswerFrame>;

/** A dialect on the upstreams' side of a translation: requests are written, answers are read. */
export interface UpstreamTranslation {
  /** The JSON body for the endpoint. What it cannot carry goes to the log. */
  writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): object;
  /** @throws AppError provider_unavailable when the upstream's 200 is no answer, or the error it holds */
  readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer;
  readStream(endpoint: Endpoint): StreamReader;
}

/** One server-sent event (or one frame of another framing) of an upstream. */
export interface UpstreamEvent {
  /** The `event:` field, where there is one. */
  readonly name: string | null;
  readonly data: string;
}

/** Turns the events of one upstream stream into events of an answer. */
export interface StreamReader {
  /** @throws AppError for an error event, or provider_unavailable for what is no event of the protocol */
  read(event: UpstreamEvent): AnswerEvent[];
  /** The upstream closed its stream. @throws AppError provider_unavailable when the answer was not finished */
  end(): AnswerEvent[];
}

/** The two sides of a dialect: with m callers' and n upstreams' sides, m × n pairs need no code of their own. */
export interface Translation {
  readonly caller: CallerTranslation;
  readonly upstream: UpstreamTranslation;
}
