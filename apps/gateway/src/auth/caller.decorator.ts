import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';
import { requestOf } from '../http/request-of';

/** The caller's Principal, as a parameter of a controller method. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal =>
  principalOf(requestOf<AuthenticatedRequest>(context)),
);
