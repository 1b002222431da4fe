import { Controller } from '@nestjs/common';
import {
  CreateKey,
  CreateKeyRequest,
  DeleteKey,
  EndKeyRotation,
  GetKey,
  KeyReference,
  ListKeys,
  ListKeysRequest,
  RotateKey,
  RotateKeyRequest,
  UpdateKey,
  UpdateKeyRequest,
  VerifyKey,
  VerifyKeyRequest,
  type KeyDeleted,
  type KeyRecord,
  type ListKeysResponse,
  type VerifyKeyResponse,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { KeysService } from './keys.service';

@Controller()
export class KeysConsumer {
  constructor(private readonly keys: KeysService) {}

  @Handles(VerifyKey)
  verify({ keyHash, by }: VerifyKeyRequest): Promise<VerifyKeyResponse> {
    return this.keys.verify(keyHash, by);
  }

  @Handles(CreateKey)
  create(request: CreateKeyRequest): Promise<KeyRecord> {
    return this.keys.create(request);
  }

  @Handles(ListKeys)
  list(request: ListKeysRequest): Promise<ListKeysResponse> {
    return this.keys.list(request);
  }

  @Handles(GetKey)
  get(reference: KeyReference): Promise<KeyRecord> {
    return this.keys.get(reference);
  }

  @Handles(UpdateKey)
  update(request: UpdateKeyRequest): Promise<KeyRecord> {
    return this.keys.update(request);
  }

  @Handles(DeleteKey)
  delete(reference: KeyReference): Promise<KeyDeleted> {
    return this.keys.delete(reference);
  }

  @Handles(RotateKey)
  rotate(request: RotateKeyRequest): Promise<KeyRecord> {
    return this.keys.rotate(request);
  }

  @Handles(EndKeyRotation)
  endRotation(reference: KeyReference): Promise<KeyRecord> {
    return this.keys.endRotation(reference);
  }
}
