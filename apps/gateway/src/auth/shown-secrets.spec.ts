import 'reflect-metadata';
import { HEADERS_METADATA } from '@nestjs/common/constants';
import { KeysController } from '../keys/keys.controller';
import { AuthorizationCodesController } from '../oauth/authorization-codes.controller';
import { TokenController } from '../oauth/token.controller';
import { WorkspacesController } from '../workspaces/workspaces.controller';

/** Every route whose answer holds a secret in clear text. The pages of consent write their headers themselves. */
const ROUTES: readonly (readonly [string, Function])[] = [
  ['POST /keys', KeysController.prototype.create],
  ['POST /keys/{hash}/rotate', KeysController.prototype.rotate],
  ['POST /auth/keys/code', AuthorizationCodesController.prototype.create],
  ['POST /auth/keys', AuthorizationCodesController.prototype.exchange],
  ['POST /oauth/token', TokenController.prototype.exchange],
  ['POST /workspaces/{id}/webhook-secret', WorkspacesController.prototype.rotateWebhookSecret],
];

describe('an answer that shows a secret', () => {
  it.each(ROUTES)('may be kept by no cache: %s', (_route, handler) => {
    const headers = Reflect.getMetadata(HEADERS_METADATA, handler) as unknown;
    expect(headers).toContainEqual({ name: 'Cache-Control', value: 'no-store' });
  });
});
