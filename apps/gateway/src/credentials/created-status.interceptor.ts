import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Observable } from 'rxjs';
import { GatewayEnv } from '../gateway.env';

/** Sets the configured status of the answer when a credential was created, also if the answer is a replayed one. */
@Injectable()
export class CreatedStatusInterceptor implements NestInterceptor {
  constructor(private readonly env: GatewayEnv) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    context.switchToHttp().getResponse<FastifyReply>().status(this.env.BYOK_CREATED_STATUS);
    return next.handle();
  }
}
