import { dirname, join } from 'node:path';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { AppError } from '@libs/errors';
import type { FastifyReply } from 'fastify';
import type { LiveRequest } from '../http/in-flight';
import { Public } from '../auth/access.decorators';
import { LimitedBySource } from '../limits/rate-limit.guard';
import { StaticFile } from './static-file';

/** URLs are relative, so that the page also works under a path of a reverse proxy. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: 'api/v1/openapi.json',
  dom_id: '#reference',
  validatorUrl: null,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  requestSnippetsEnabled: true,
});
`;

const SCRIPT = 'text/javascript; charset=utf-8';
const PACKAGE = dirname(require.resolve('swagger-ui-dist/package.json'));
const PACKAGE_FILES: Readonly<Record<string, StaticFile>> = {
  'swagger-ui.css': new StaticFile(join(PACKAGE, 'swagger-ui.css'), 'text/css; charset=utf-8'),
  'swagger-ui-bundle.js': new StaticFile(join(PACKAGE, 'swagger-ui-bundle.js'), SCRIPT),
};

/**
 * The page runs in a separate origin (`sandbox`): its scripts can read neither cookies nor storage of the consent page,
 * which has the same host. It loads content only from this gateway.
 */
const POLICY = [
  'sandbox allow-scripts allow-popups allow-downloads',
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  'img-src data:',
  `connect-src 'self'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
  `base-uri 'none'`,
].join('; ');

/** The API reference for people: Swagger UI, served from the files of its package. */
@Controller('docs')
@Public()
@LimitedBySource('consent-pages')
export class ReferencePageController {
  @Get()
  show(@Res() reply: FastifyReply): void {
    void reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'public, max-age=300',
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      })
      .send(PAGE);
  }

  /** Sends a file of the page. @throws AppError `not_found` for any other name */
  @Get(':file')
  async file(@Param('file') name: string, @Req() request: LiveRequest, @Res() reply: FastifyReply): Promise<void> {
    void reply.header('cache-control', 'public, max-age=3600');
    if (name === 'start.js') return void reply.header('content-type', SCRIPT).send(START);
    const file = Object.hasOwn(PACKAGE_FILES, name) ? PACKAGE_FILES[name] : undefined;
    if (file === undefined) throw new AppError('not_found', 'The reference page has no such file');
    await file.send(request, reply);
  }
}
