import { Controller, Get, Header } from '@nestjs/common';
import { ACCESS_TOKEN_SCOPE, CHALLENGE_METHODS } from '@libs/contracts';
import { Public } from '../auth/access.decorators';
import { GatewayEnv, publicUrlOf } from '../gateway.env';
import { API_PREFIX } from '../http/edge';
import { TOKEN_EXCHANGE_GRANT } from './token-request';

/** The fields of RFC 8414 §2 that apply here. */
interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
  readonly authorization_endpoint: string;
  readonly response_types_supported: readonly string[];
  readonly grant_types_supported: readonly string[];
  readonly scopes_supported: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
}

/**
 * Describes this authorization server for programs that configure themselves (RFC 8414 §3): at the root of the public
 * URL, which is the issuer, and also next to the other endpoints.
 */
@Controller('.well-known/oauth-authorization-server')
@Public()
export class AuthorizationServerController {
  constructor(private readonly env: GatewayEnv) {}

  @Get()
  @Header('Cache-Control', 'public, max-age=3600')
  describe(): AuthorizationServerMetadata {
    const issuer = publicUrlOf(this.env);
    return {
      issuer,
      token_endpoint: `${issuer}${API_PREFIX}/oauth/token`,
      jwks_uri: `${issuer}${API_PREFIX}/oauth/jwks`,
      authorization_endpoint: `${issuer}/auth`,
      response_types_supported: ['code'],
      grant_types_supported: [TOKEN_EXCHANGE_GRANT],
      scopes_supported: [ACCESS_TOKEN_SCOPE],
      token_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: CHALLENGE_METHODS,
    };
  }
}
