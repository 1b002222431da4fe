import 'reflect-metadata';
import { HEADERS_METADATA } from '@nestjs/common/constants';
import { KeysController } from '../keys/keys.controller';
import { AuthorizationCodesController } from '../oauth/authorization-codes.controller';
import { TokenController } from '../oauth/token.controller';
import { WorkspacesController } from '../workspaces/workspaces.controller';

/** Every route whose answer holds a secret in clear text. The pages of consent write their headers themselves. */
const ROUTES: readonly (readonly [route: string, controller: Function, method: string])[] = [
  ['POST /keys', KeysController, 'create'],
  ['POST /keys/{hash}/rotate', KeysController, 'rotate'],
  ['POST /auth/keys/code', AuthorizationCodesController, 'create'],
  ['POST /auth/keys', AuthorizationCodesController, 'exchange'],
  ['POST /oauth/token', TokenController, 'exchange'],
  ['POST /workspaces/{id}/webhook-secret', WorkspacesController, 'rotateWebhookSecret'],
];

describe('an answer that shows a secret', () => {
  it.each(ROUTES)('may be kept by no cache: %s', (_route, controller, method) => {
    const handler = (controller.prototype as Record<string, object>)[method]!;
    const headers = Reflect.getMetadata(HEADERS_METADATA, handler) as unknown;
    expect(headers).toContainEqual({ name: 'Cache-Control', value: 'no-store' });
  });
});
