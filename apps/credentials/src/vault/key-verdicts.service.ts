import { Injectable, Logger } from '@nestjs/common';
import type { KeyVerdictNoted, NoteKeyVerdictRequest } from '@libs/contracts';
import { counter } from '@libs/platform';
import { KeyVerdictsRepository } from './key-verdicts.repository';

const verdicts = counter({
  name: 'sluice_credentials_verdicts_total',
  help: 'Changes of what is known of keys: their provider refused them, or took them again',
  labelNames: ['verdict'],
});

/** Stores providers' verdicts on customers' keys, which owners see and routing obeys. */
@Injectable()
export class KeyVerdictsService {
  private readonly logger = new Logger(KeyVerdictsService.name);

  constructor(private readonly repository: KeyVerdictsRepository) {}

  async note({ refusedWith, ...key }: NoteKeyVerdictRequest): Promise<KeyVerdictNoted> {
    const isRefusal = refusedWith !== null;
    const isNews = await (isRefusal
      ? this.repository.noteRefusal(key, refusedWith)
      : this.repository.noteAcceptance(key));
    if (!isNews) return { isNews };
    verdicts.inc({ verdict: isRefusal ? 'refused' : 'accepted' });
    const what = isRefusal ? `was refused by its provider with ${refusedWith}` : 'is taken by its provider again';
    this.logger.log(`Credential ${key.id} of organization ${key.organizationId} ${what}`);
    return { isNews };
  }
}
