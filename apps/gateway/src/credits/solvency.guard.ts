import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AppError } from '@libs/errors';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';
import { requestOf } from '../http/request-of';
import { countRefusal } from '../http/request-claim';
import { BODY_RULE, type BodyRule } from '../http/streamed-body.decorator';
import { readIdempotencyKey } from '../idempotency/idempotency-key';
import { Solvency } from './solvency';

/** A smaller body is read for every caller with a key, because checking the balance costs more. */
const SMALL_BODY_BYTES = 256 * 1024;

/**
 * Refuses a large body before it is read if its caller cannot pay for anything. Runs before the body guard because its
 * module is imported first.
 */
@Injectable()
export class SolvencyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly solvency: Solvency,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = requestOf<AuthenticatedRequest>(context);
    const { headers } = request.raw;
    // A body without a length may have any size.
    const isSmall =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= SMALL_BODY_BYTES;
    if (isSmall || request.principal === undefined) return true;
    const rule = this.reflector.get<BodyRule | undefined>(BODY_RULE, context.getHandler());
    return rule?.isCharged === true ? this.judge(request) : true;
  }

  private async judge(request: AuthenticatedRequest): Promise<true> {
    const caller = principalOf(request);
    const shortfall = await this.solvency.shortfallOf(caller);
    if (shortfall === null) return true;
    const { leftUsd, leastUsd } = shortfall;
    // A submission that was accepted before is answered from storage, whatever the current balance is.
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    if (key !== null && (await this.solvency.hasSubmitted(caller, key))) return true;
    countRefusal('credits');
    throw new AppError(
      'payment_required',
      `Insufficient credits: the organization has ${leftUsd} USD; a request reserves at least ${leastUsd} USD`,
      { metadata: { limit: 'credits', left_usd: leftUsd, reserved_usd: leastUsd } },
    );
  }
}
