import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { fromHttpFramework, validateClosed } from '@libs/platform';
import type { PromptEstimate } from '@libs/inference';
import type { AuthenticatedRequest } from './authenticated-request';
import { claimantOf } from './claimant';
import { takeExpectation } from './expectations';
import type { LiveRequest } from './in-flight';
import { parseForm } from './parse-form';
import { readScannedBody, scanJsonBody } from './parse-json';
import { readBody, takeWholeBody, type BodyTimes } from './read-body';
import type { Claimant } from './request-claim';
import { announcesNoBody, findBodyHeadProblem } from './request-head';
import { requestOf } from './request-of';
import { ROUTE_ACCESS, type RouteAccess } from './route-access';
import { BODY_RULE, NO_BODY, PLAIN_BODY, type BodyRule } from './streamed-body.decorator';
import { limitUploadTime, UPLOAD_TIMES } from './upload-limit';

/** A request of a route that has a parsed body. */
export interface BodyRequest extends LiveRequest, AuthenticatedRequest {
  /** The bytes that `body` was parsed from. */
  rawBody?: Buffer;
  /** An estimate of the prompt in `rawBody`; absent for forms. */
  prompt?: PromptEstimate;
}

const TIMES: BodyTimes = { idleMs: 60_000, totalMs: 300_000 };
/** Time limits for bodies of callers without a credential, which are forms and small objects. */
const PUBLIC_TIMES: BodyTimes = { idleMs: 5_000, totalMs: 10_000 };
const MAX_PUBLIC_BYTES = 32 * 1024;
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** The body of a route that takes none: an object without fields. */
class Nothing {}

/**
 * Copies of a body in memory: its bytes, its text, the parsed values, the upstream body, and memory not yet
 * garbage-collected.
 */
const COPIES_OF_PARSED = 5;
/** Copies of an upload in memory: the recording or picture, its decoded form, and the upstream body. */
const COPIES_OF_UPLOAD = 3;
/** Most memory of a streamed batch: two slices and one line. A small batch needs no more than a parsed body. */
const MOST_OF_STREAMED_BYTES = 24 * 1024 * 1024;
/** Bytes that a body without a Content-Length reserves at first, and again each time it exceeds its reservation. */
const UNANNOUNCED_STEP_BYTES = 1024 * 1024;

/**
 * Reads the body after the caller has shown a credential, and gives the request a slot among the running ones. While
 * its body arrives, a request has a slot of another kind, so slow or stalled callers take no running slots from others.
 * Runs after the bearer guard because its module is imported later.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  private readonly rules = new WeakMap<object, BodyRule | null>();

  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = requestOf<BodyRequest>(context);
    const { noteRefusal } = request;
    return noteRefusal === undefined ? this.admit(context, request) : this.admitNoted(context, request, noteRefusal);
  }

  /** Audit entries of other calls are written after this guard. */
  private async admitNoted(
    context: ExecutionContext,
    request: BodyRequest,
    noteRefusal: (status: number) => void,
  ): Promise<true> {
    try {
      return await this.admit(context, request);
    } catch (error) {
      noteRefusal(fromHttpFramework(error).status);
      throw error;
    }
  }

  private admit(context: ExecutionContext, request: BodyRequest): true | Promise<true> {
    const { raw, life } = request;
    const claimant = claimantOf(request);
    const rule = this.ruleFor(context, raw.method ?? '', claimant);
    if (rule === null || (rule.kind === 'empty' && announcesNoBody(raw))) {
      life.claim.work(claimant);
      return true;
    }
    const problem = findBodyHeadProblem(raw, rule);
    if (problem !== null) throw problem;
    const isForRoute = rule.kind === 'streamed' || rule.kind === 'upload';
    return isForRoute ? this.admitUnread(request, rule, claimant) : this.takeBody(request, rule, claimant);
  }

  /** Admits a request whose route reads the body itself while it runs. */
  private async admitUnread({ raw, life }: BodyRequest, rule: BodyRule, claimant: Claimant): Promise<true> {
    life.claim.work(claimant);
    const bytes = Number(raw.headers['content-length'] ?? rule.maxBytes);
    const most = Math.min(bytes * COPIES_OF_PARSED, MOST_OF_STREAMED_BYTES);
    const wanted = rule.kind === 'upload' ? bytes * COPIES_OF_UPLOAD : most;
    await life.claim.reserve(claimant, wanted);
    takeExpectation(raw);
    limitUploadTime(raw, UPLOAD_TIMES);
    return true;
  }

  private async takeBody(request: BodyRequest, rule: BodyRule, claimant: Claimant): Promise<true> {
    const { raw, life } = request;
    // A body in the same packet as its head is available as soon as the parser has finished the packet.
    await Promise.resolve();
    let bytes = takeWholeBody(raw, rule.maxBytes);
    if (bytes === null) bytes = await this.readSlowly(request, rule, claimant);
    else takeExpectation(raw);
    life.claim.work(claimant);
    if (rule.kind === 'form') {
      request.rawBody = bytes;
      await life.claim.reserve(claimant, bytes.length * COPIES_OF_PARSED);
      request.body = parseForm(bytes);
      return true;
    }
    // Chunks may come to nothing.
    if (rule.kind === 'empty' && bytes.length === 0) return true;
    const scanned = scanJsonBody(bytes);
    // The copies of the text also cover parsed values that are no larger than the text.
    const extra = Math.max(0, scanned.shape.valueBytes - bytes.length);
    const waits = life.claim.reserveParsed(claimant, bytes.length * COPIES_OF_PARSED, extra);
    if (waits !== undefined) await waits;
    const { object, bytes: sentOn, prompt } = readScannedBody(scanned, rule.rules);
    if (rule.kind === 'empty') validateClosed(Nothing, object);
    request.rawBody = sentOn;
    request.body = object;
    request.prompt = prompt;
    return true;
  }

  private async readSlowly({ raw, life }: BodyRequest, { maxBytes }: BodyRule, claimant: Claimant): Promise<Buffer> {
    const { claim } = life;
    claim.arrive(claimant);
    const announced = raw.headers['content-length'];
    await claim.reserve(claimant, Number(announced ?? UNANNOUNCED_STEP_BYTES) * COPIES_OF_PARSED);
    takeExpectation(raw);
    const onLength = (bytes: number): void => {
      if (announced !== undefined) return;
      const steps = Math.ceil(bytes / UNANNOUNCED_STEP_BYTES);
      claim.grow(claimant, steps * UNANNOUNCED_STEP_BYTES * COPIES_OF_PARSED);
    };
    return readBody(raw, { maxBytes, ...(claimant.isPublic ? PUBLIC_TIMES : TIMES), onLength });
  }

  /** Returns the rule of the route, or null if its body is ignored. A public one may have `MAX_PUBLIC_BYTES`. */
  private ruleFor(context: ExecutionContext, method: string, { isPublic }: Claimant): BodyRule | null {
    const rule = this.ruleOf(context, method);
    return rule !== null && isPublic && rule.maxBytes > MAX_PUBLIC_BYTES
      ? { ...rule, maxBytes: MAX_PUBLIC_BYTES }
      : rule;
  }

  private ruleOf(context: ExecutionContext, method: string): BodyRule | null {
    const handler = context.getHandler();
    let rule = this.rules.get(handler);
    if (rule === undefined) {
      const given = this.reflector.get<BodyRule | undefined>(BODY_RULE, handler);
      this.rules.set(handler, (rule = given ?? this.usualRule(context, method)));
    }
    return rule;
  }

  /** A field of management is never ignored, and no DELETE takes one. Other reads ignore a body (RFC 9110 §9.3.1). */
  private usualRule(context: ExecutionContext, method: string): BodyRule | null {
    if (METHODS_WITH_BODY.has(method)) return PLAIN_BODY;
    const places = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, places);
    return method === 'DELETE' || access === 'management' ? NO_BODY : null;
  }
}
