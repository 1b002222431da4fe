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
import type { ToolUnits } from './reported-tools';

/** The charge for an answer, which becomes part of its usage object. */
export interface Bill {
  readonly usage: Usage;
  /** Cost of the model only, without the gateway's tools. */
  readonly cost: Cost;
  /** Absent where the gateway ran no tools. */
  readonly tools?: ToolBill;
}

/** Uses and cost of the tools that the gateway ran itself. */
export interface ToolBill {
  /** Calls that the model asked for. */
  readonly requested: number;
  /** Number of uses that were actually run. */
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
 * The callers' side of a dialect: reads requests and writes answers. Used only if the upstream has another dialect. If
 * both have the same one, the bytes are passed through (see Dialect).
 */
export interface CallerTranslation {
  /**
   * Reads a request into the canonical model. `body` is a validated JSON object. Fields that a `CanonicalRequest`
   * cannot hold are added to `unread`.
   * @throws AppError invalid_request with the name of a field that cannot be understood
   */
  readRequest(body: Readonly<Record<string, unknown>>): CanonicalRequest;
  /** Writes a complete answer as the caller's JSON. `request` is the caller's body, if it is already parsed. */
  writeAnswer(answer: CanonicalAnswer, bill: Bill, context: AnswerContext, request?: JsonObject): object;
  /** Creates the writer of a stream. The writer must not keep `request`, which may be large. */
  writeStream(context: AnswerContext, request?: JsonObject): StreamWriter;
}

/** Turns the canonical events of one answer into the output of one stream. */
export interface PieceWriter<Piece> {
  /** About how many bytes of the answer it keeps for its last event; absent if that repeats nothing. */
  readonly keptBytes?: number;
  /** Possibly none. */
  write(event: AnswerEvent): readonly Piece[];
  /** Ends a whole stream: closes open parts, then writes the terminal event with the bill. */
  complete(bill: Bill): readonly Piece[];
  /** Ends a broken stream with an error in the dialect's own form. */
  fail(error: AppError, bill: Bill): readonly Piece[];
}

/** Writes server-sent events. */
export type StreamWriter = PieceWriter<AnswerFrame>;

/** The upstreams' side of a dialect: writes requests and reads answers. */
export interface UpstreamTranslation {
  /** Returns the JSON body for the endpoint. Logs settings that the dialect has no field for. */
  writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): object;
  /** Returns whether `writeRequest` may be given tools with `freeText` for the endpoint; absent: never. */
  readonly takesFreeText?: (endpoint: Endpoint) => boolean;
  /** @throws AppError provider_unavailable if the upstream's 200 is not an answer, or the error that it contains */
  readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer;
  readStream(endpoint: Endpoint): StreamReader;
}

/** One server-sent event of an upstream, or one frame of another framing. */
export interface UpstreamEvent {
  /** The `event:` field, where there is one. */
  readonly name: string | null;
  readonly data: string;
}

/** Turns the events of one upstream stream into canonical events. */
export interface StreamReader {
  /** About how many bytes of the answer it keeps until their turn; absent if it keeps none. */
  readonly keptBytes?: number;
  /** The provider tools that have been used so far; undefined if none were. */
  readonly uses?: ToolUnits | undefined;
  /**
   * Counts the provider tools that have begun as used, because the caller has disconnected, and returns all that were
   * used; absent if the reader sees no tool begin.
   */
  usesWithBegun?(): ToolUnits | undefined;
  /** @throws AppError for an error event; provider_unavailable for data that is not an event of the protocol */
  read(event: UpstreamEvent): AnswerEvent[];
  /** Handles the end of the upstream's stream. @throws AppError provider_unavailable if the answer was not finished */
  end(): AnswerEvent[];
}

/**
 * The two sides of a dialect. Any caller's side works with any upstream's side, so no pair of dialects needs code of
 * its own.
 */
export interface Translation {
  readonly caller: CallerTranslation;
  readonly upstream: UpstreamTranslation;
}
