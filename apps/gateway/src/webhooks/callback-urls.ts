import { Injectable } from '@nestjs/common';
import { MAX_CALLBACK_URL_LENGTH } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Egress } from '@libs/platform';

/** The owner of a batch or video with a webhook. */
export interface CallbackOwner {
  /** The callback URL of the workspace. */
  readonly defaultCallbackUrl: string | null;
}

/** Checks and finds webhook URLs for the ends of batches and videos. */
@Injectable()
export class CallbackUrls {
  constructor(private readonly egress: Egress) {}

  /**
   * Checks whether the URL is acceptable, as far as possible without resolving its name; it is checked again before
   * delivery.
   * @throws AppError invalid_request with the name `member`
   */
  check(url: string, member: string): void {
    if (url.length > MAX_CALLBACK_URL_LENGTH) {
      throw new AppError('invalid_request', `${member} is longer than ${MAX_CALLBACK_URL_LENGTH} characters`, {
        metadata: { param: member },
      });
    }
    this.egress.check(url, member);
  }

  /**
   * Returns the URL of the request, or the workspace's default; null if there is none.
   * @throws AppError invalid_request
   */
  resolve({ defaultCallbackUrl }: CallbackOwner, callbackUrl: string | null): string | null {
    if (callbackUrl === null) return defaultCallbackUrl;
    this.check(callbackUrl, 'callback_url');
    return callbackUrl;
  }
}
