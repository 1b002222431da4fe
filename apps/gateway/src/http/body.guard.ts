import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { takeExpectation } from './expectations';
import { limitIdleTime } from './idle-limit';
import type { LiveRequest } from './in-flight';
import { parseForm } from './parse-form';
import { readJsonBody } from './parse-json';
import { readBody, takeWholeBody } from './read-body';
import { findBodyHeadProblem } from './request-head';
import { requestOf } from './request-of';
import { BODY_RULE, PLAIN_BODY, type BodyRule } from './streamed-body.decorator';

/** A request whose route takes a parsed body. */
export interface BodyRequest extends LiveRequest {
  /** The bytes that `body` was parsed from. */
  rawBody?: Buffer;
  /** About how many tokens of a prompt those bytes hold; of forms nobody knows. */
  promptTokens?: number;
}

const IDLE_MS = 60_000;
const TOTAL_MS = 300_000;
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Takes the body in, after the caller has shown a credential: nobody makes us read megabytes for a 401. It
 * stands behind the bearer guard because its module is imported after that guard's.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  private readonly rules = new WeakMap<object, BodyRule>();

  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = requestOf<BodyRequest>(context);
    const { raw } = request;
    if (!METHODS_WITH_BODY.has(raw.method ?? '')) return true;
    const rule = this.ruleOf(context.getHandler());
    if (rule.kind === 'ignored') return true;
    const problem = findBodyHeadProblem(raw, rule);
    if (problem !== null) throw problem;
    takeExpectation(raw);
    if (rule.kind === 'streamed' || rule.kind === 'upload') {
      limitIdleTime(raw, IDLE_MS);
      return true;
    }
    return this.takeBody(request, rule);
  }

  private async takeBody(request: BodyRequest, rule: BodyRule): Promise<true> {
    const { raw } = request;
    // A body that came in the packet of its head is there as soon as the parser is through with the packet.
    await Promise.resolve();
    const bytes =
      takeWholeBody(raw, rule.maxBytes) ??
      (await readBody(raw, { maxBytes: rule.maxBytes, idleMs: IDLE_MS, totalMs: TOTAL_MS }));
    request.rawBody = bytes;
    if (rule.kind === 'form') {
      request.body = parseForm(bytes);
    } else {
      const { object, promptTokens } = readJsonBody(bytes, rule.rules);
      request.body = object;
      request.promptTokens = promptTokens;
    }
    return true;
  }

  private ruleOf(handler: Function): BodyRule {
    let rule = this.rules.get(handler);
    if (rule === undefined) {
      rule = this.reflector.get<BodyRule | undefined>(BODY_RULE, handler) ?? PLAIN_BODY;
      this.rules.set(handler, rule);
    }
    return rule;
  }
}
