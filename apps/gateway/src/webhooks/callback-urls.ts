import { Injectable } from '@nestjs/common';
import { MAX_CALLBACK_URL_LENGTH } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Egress } from '@libs/platform';

/** The owner of work whose end is announced. */
export interface CallbackOwner {
  /** The callback URL of the workspace. */
  readonly defaultCallbackUrl: string | null;
}

/** Where the ends of batches and videos are announced. */
@Injectable()
export class CallbackUrls {
  constructor(private readonly egress: Egress) {}

  /**
   * Whether the URL can be accepted, as far as can be said without resolving its name; delivery judges it again.
   *
   * @throws AppError invalid_request that names `member`
   */
  check(url: string, member: string): void {
    if (url.length > MAX_CALLBACK_URL_LENGTH) {
      throw new AppError('invalid_request', `${member} is longer than ${MAX_CALLBACK_URL_LENGTH} characters`, {
        metadata: { param: member },
      });
    }
    this.egress.check(url, member);
  }

  /** The URL of the request, or the workspace's own; null for nowhere. @throws AppError invalid_request */
  resolve({ defaultCallbackUrl }: CallbackOwner, callbackUrl: string | null): string | null {
    if (callbackUrl === null) return defaultCallbackUrl;
    this.check(callbackUrl, 'callback_url');
    return callbackUrl;
  }
}
