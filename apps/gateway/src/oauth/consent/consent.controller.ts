import { Body, Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../auth/access.decorators';
import { requestIdsOf } from '../../auth/audit.interceptor';
import { GatewayEnv, publicUrlOf } from '../../gateway.env';
import { parseForm, type FormFields } from '../../http/parse-form';
import { sourceOf } from '../../http/source-address';
import { FormBody } from '../../http/streamed-body.decorator';
import { LimitedBySource } from '../../limits/rate-limit.guard';
import {
  FORM_COOKIE,
  formTokenOf,
  isFormTokenOf,
  newSecret,
  readCookie,
  SESSION_COOKIE,
  setCookie,
} from './consent-cookies';
import { ConsentErrorFilter } from './consent-error.filter';
import { codePage, CONSENT_PATH, consentPage, refusedPage, signInPage } from './consent-pages';
import {
  callbackWith,
  codeRequestOf,
  queryOf,
  readApp,
  readChoices,
  type ConsentApp,
  type ConsentChoices,
} from './consent-request';
import { ConsentService } from './consent.service';
import { documentOf, pageHeaders, type Page } from './page';

const MAX_FORM_BYTES = 32 * 1024;

/** The code, or an error message about the choices. */
interface Outcome {
  readonly code?: string;
  readonly problem?: string;
}

/**
 * The page on which a person gives an app a key (steps 1 and 2 of the PKCE flow): `GET /auth` with the app's request,
 * and the forms of that page. It works without scripts.
 *
 * A form is accepted only with the token that belongs to its page's cookie, and only if the browser does not report
 * that another site sent it.
 */
@Controller('auth')
@Public()
@LimitedBySource('consent-pages')
@UseFilters(ConsentErrorFilter)
export class ConsentController {
  constructor(
    private readonly consent: ConsentService,
    private readonly env: GatewayEnv,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const fields = parseForm(Buffer.from(request.url.split('?', 2)[1] ?? '', 'latin1'));
    const [app, choices] = [readApp(fields), readChoices(fields)];
    codeRequestOf(app, choices);
    const session = readCookie(request.headers.cookie, SESSION_COOKIE);
    const manager = await this.consent.findManager(session);
    if (manager === null || session === null) return this.askToSignIn(reply, app, choices);
    const asked = { app, choices, formToken: formTokenOf(session) };
    this.send(reply, consentPage(asked, await this.consent.workspacesOf(manager)));
  }

  @Post('session')
  @FormBody(MAX_FORM_BYTES)
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Body() fields: FormFields): Promise<void> {
    judgeForm(request, fields, FORM_COOKIE);
    const [app, choices] = [readApp(fields), readChoices(fields)];
    const session = newSecret();
    const key = fields.get('management_key')?.trim() ?? '';
    if (!(await this.consent.signIn(key, session, sourceOf(request.ip)))) {
      return this.askToSignIn(reply, app, choices, 'This is no management key that can be used.');
    }
    this.setCookies(reply, { [SESSION_COOKIE]: session, [FORM_COOKIE]: null });
    redirect(reply, addressOf(app, choices));
  }

  @Post('session/end')
  @FormBody(MAX_FORM_BYTES)
  async signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Body() fields: FormFields): Promise<void> {
    await this.consent.signOut(judgeForm(request, fields, SESSION_COOKIE));
    this.setCookies(reply, { [SESSION_COOKIE]: null });
    redirect(reply, addressOf(readApp(fields), readChoices(fields)));
  }

  @Post()
  @FormBody(MAX_FORM_BYTES)
  async decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Body() fields: FormFields): Promise<void> {
    const session = judgeForm(request, fields, SESSION_COOKIE);
    const [app, choices] = [readApp(fields), readChoices(fields)];
    const manager = await this.consent.findManager(session);
    if (manager === null) return redirect(reply, addressOf(app, choices));
    if (fields.get('decision') !== 'approve') return this.answer(reply, app, { error: 'access_denied' }, refusedPage());
    const outcome = await this.agree(request, manager, app, choices);
    if (outcome.code !== undefined) return this.answer(reply, app, { code: outcome.code }, codePage(outcome.code));
    const asked = { app, choices, formToken: formTokenOf(session), ...outcome };
    this.send(reply, consentPage(asked, await this.consent.workspacesOf(manager)));
  }

  private async agree(
    request: FastifyRequest,
    manager: Principal,
    app: ConsentApp,
    choices: ConsentChoices,
  ): Promise<Outcome> {
    try {
      const agreement = { callbackUrl: app.callbackUrl, wanted: codeRequestOf(app, choices) };
      return { code: await this.consent.agree(manager, requestIdsOf(request), agreement) };
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_request') return { problem: error.message };
      throw error;
    }
  }

  private askToSignIn(reply: FastifyReply, app: ConsentApp, choices: ConsentChoices, problem?: string): void {
    const secret = newSecret();
    this.setCookies(reply, { [FORM_COOKIE]: secret });
    const asked = { app, choices, formToken: formTokenOf(secret), ...(problem !== undefined && { problem }) };
    this.send(reply, signInPage(asked, addressOf(app, choices)));
  }

  /** Redirects to the app with the answer, or shows the page if the app has no callback URL. */
  private answer(reply: FastifyReply, { callbackUrl }: ConsentApp, answer: Record<string, string>, page: Page): void {
    if (callbackUrl === null) this.send(reply, page);
    else redirect(reply, callbackWith(callbackUrl, answer));
  }

  private setCookies(reply: FastifyReply, cookies: Readonly<Record<string, string | null>>): void {
    const publicUrl = publicUrlOf(this.env);
    const lines = Object.entries(cookies).map(([name, secret]) => setCookie(name, secret, publicUrl));
    void reply.header('set-cookie', lines);
  }

  private send(reply: FastifyReply, page: Page): void {
    void reply.status(page.status).headers(pageHeaders(page)).send(documentOf(page, this.env.SERVICE_NAME));
  }
}

function addressOf(app: ConsentApp, choices: ConsentChoices): string {
  return `${CONSENT_PATH}?${queryOf(app, choices)}`;
}

function redirect(reply: FastifyReply, location: string): void {
  void reply.status(303).headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).send();
}

/**
 * Returns the secret of the cookie to which a form belongs.
 * @throws AppError permission_denied for a form of another site
 */
function judgeForm({ headers }: FastifyRequest, fields: FormFields, cookie: string): string {
  const secret = readCookie(headers.cookie, cookie);
  const site = headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (secret === null || isForeign || !isFormTokenOf(secret, fields.get('form_token'))) {
    throw new AppError('permission_denied', 'The form is not one of this page, or it is too old. Open the page again.');
  }
  return secret;
}
