import { AppError } from '@libs/errors';
import { plainToInstance, Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsPositive,
  IsString,
  IsUUID,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { plainValidator, validateClosed, validateInstance } from './validate';

class TextPartDto {
  @IsIn(['text']) type: string;
  @IsString() @MaxLength(10) text: string;
}

class ImagePartDto {
  @IsIn(['image']) type: string;
  @IsString() url: string;
}

class MessageDto {
  @IsIn(['user', 'assistant', 'system']) role: string;

  @IsOptional() @IsString() @MaxLength(100) content?: string;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Object, {
    discriminator: {
      property: 'type',
      subTypes: [
        { name: 'text', value: TextPartDto },
        { name: 'image', value: ImagePartDto },
      ],
    },
    keepDiscriminatorProperty: true,
  })
  parts?: (TextPartDto | ImagePartDto)[];
}

class BaseDto {
  @IsString() model: string;
}

class ChatDto extends BaseDto {
  @IsArray() @ValidateNested({ each: true }) @Type(() => MessageDto) messages: MessageDto[];
  @IsOptional() @IsInt() @Min(1) maxTokens?: number;
  @IsOptional() @IsString({ each: true }) stop?: string[];
  @ValidateIf((chat: ChatDto) => chat.maxTokens === 7) @IsDefined() @IsString() reason?: string;
  @IsOptional() @Transform(({ value }) => (typeof value === 'string' ? value.trim() : value)) @IsString() user?: string;

  greet(): string {
    return `hello ${this.model}`;
  }
}

class EmptyDto {}

function refusal(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Anything but an AppError is a mistake of ours and fails the test. */
function accepts(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function succeeds(run: () => boolean): boolean {
  try {
    return run();
  } catch {
    return false;
  }
}

const user = { role: 'user', content: 'hi' };

/** A field for each kind of message. */
class WordsDto {
  @IsOptional() @IsNumber() @Min(0) @Max(2) temperature?: number;
  @IsOptional() @IsString() @Length(1, 8) name?: string;
  @IsOptional() @IsString() @MinLength(2) note?: string;
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(2)
  @ArrayUnique()
  @IsString({ each: true })
  @MaxLength(5, { each: true })
  tags?: string[];
  @IsOptional() @IsIn(['fast', 'safe']) mode?: string;
  @IsOptional() @IsIn([false]) store?: boolean;
  @IsOptional() @IsBoolean() store2?: boolean;
  @IsOptional() @IsUUID() id?: string;
  @IsOptional() @Matches(/^[a-z]+$/) slug?: string;
  @IsOptional() @IsObject() extra?: object;
  @IsOptional() @IsPositive() amount?: number;
  @IsOptional() @Matches(/^[a-z]{2}$/, { message: '$property must be two letters' }) lang?: string;
  @IsOptional() @HasKinds() part?: object;
  @IsOptional() @IsString() @MinLength(8) key?: string;
}

/** A check of a whole object, which names the field inside it. */
function HasKinds(): PropertyDecorator {
  const find = (part: unknown): number => (part as { kinds: unknown[] }).kinds.findIndex((kind) => kind === 7);
  return ValidateBy({
    name: 'hasKinds',
    validator: {
      validate: (part) => find(part) < 0,
      defaultMessage: (args) => `${args!.property}.kinds[${find(args!.value)}] must be a string`,
    },
  });
}

describe(validateInstance.name, () => {
  it('gives instances of the class, of its nested classes, and of the class that a tag names', () => {
    const chat = validateInstance(ChatDto, {
      model: 'm',
      messages: [
        user,
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'x' },
            { type: 'image', url: 'u' },
          ],
        },
      ],
    });
    expect(chat).toBeInstanceOf(ChatDto);
    expect(chat.greet()).toBe('hello m');
    expect(chat.messages[0]).toBeInstanceOf(MessageDto);
    expect(chat.messages[1]?.parts?.[0]).toBeInstanceOf(TextPartDto);
    expect(chat.messages[1]?.parts?.[1]).toBeInstanceOf(ImagePartDto);
    expect(chat.messages[1]?.parts?.[0]?.type).toBe('text');
  });

  it('names the nested member at fault and what is expected, never a secret', () => {
    const error = refusal(() =>
      validateInstance(ChatDto, { model: 'm', messages: [user, user, user, { role: 'sk-secret-value' }] }),
    );
    expect(error.code).toBe('invalid_request');
    expect(error.message).toBe(
      'messages[3].role must be one of user, assistant, system (it is a string of 15 characters)',
    );
    expect(error.metadata).toEqual({ param: 'messages[3].role' });
  });

  it.each([
    ['a number', { temperature: 'hot' }, 'temperature must be a number from 0 to 2 (it is "hot")'],
    ['a bound', { temperature: 3 }, 'temperature must be a number from 0 to 2 (it is 3)'],
    ['a length', { name: 'x y z w v' }, 'name must be a string of 1 to 8 characters (it is a string of 9 characters)'],
    ['the least length', { note: '' }, 'note must be a string of at least 2 characters (it is an empty string)'],
    ['a list', { tags: [] }, 'tags must be an array of 1 to 2 elements (it is an empty array)'],
    ['a list of another type', { tags: 'a' }, 'tags must be an array of 1 to 2 elements (it is "a")'],
    ['what is there twice', { tags: ['a', 'a'] }, 'tags must have no element twice (it is an array of 2)'],
    ['an element', { tags: ['a', 'longest'] }, 'tags[1] must be a string of at most 5 characters (it is "longest")'],
    ['a choice', { mode: 'slow' }, 'mode must be one of fast, safe (it is "slow")'],
    ['the only choice', { store: true }, 'store must be false (it is true)'],
    ['a flag', { store2: 'yes' }, 'store2 must be a boolean (it is "yes")'],
    ['an id', { id: 'mine' }, 'id must be a UUID (it is "mine")'],
    ['a pattern', { slug: 'A' }, 'slug must match ^[a-z]+$ (it is "A")'],
    ['an object', { extra: [] }, 'extra must be an object (it is an empty array)'],
    ['an amount', { amount: 0 }, 'amount must be a number above 0 (it is 0)'],
    ['words of its own', { lang: 'german' }, 'lang must be two letters (it is "german")'],
    ['a part', { part: { kinds: ['a', 7] } }, 'part.kinds[1] must be a string (it is 7)'],
    ['a secret', { key: 'hunter' }, 'key must be a string of at least 8 characters (it is a string of 6 characters)'],
  ])('says of %s what is allowed and what was sent', (_what, members, message) => {
    expect(refusal(() => validateInstance(WordsDto, members))).toMatchObject({ message });
  });

  it('names members two arrays deep', () => {
    const error = refusal(() =>
      validateInstance(ChatDto, {
        model: 'm',
        messages: [
          {
            role: 'user',
            parts: [
              { type: 'text', text: 'fine' },
              { type: 'text', text: 'far too long' },
            ],
          },
        ],
      }),
    );
    expect(error.metadata).toEqual({ param: 'messages[0].parts[1].text' });
    expect(error.message).not.toContain('far too long');
  });

  it('says of an absent member that it is required, also of an inherited one', () => {
    const error = refusal(() => validateInstance(ChatDto, { messages: [{}] }));
    expect(error.message).toContain('model is required');
    expect(error.message).toContain('messages[0].role is required');
  });

  it('names at most five members, however many are wrong', () => {
    const messages = Array.from({ length: 100_000 }, () => ({ role: 1 }));
    const error = refusal(() => validateInstance(ChatDto, { model: 'm', messages }));
    expect(error.message.match(/messages\[\d+\]\.role/g)).toHaveLength(5);
  });

  it.each([null, undefined, [], 'x', 1, true])('refuses %p in the place of an object', (plain) => {
    expect(refusal(() => validateInstance(ChatDto, plain)).message).toBe('Expected a JSON object');
  });

  it.each([null, 'x', 1, {}, { 0: user, length: 1 }])('refuses %p in the place of an array', (messages) => {
    expect(refusal(() => validateInstance(ChatDto, { model: 'm', messages })).metadata).toEqual({ param: 'messages' });
  });

  it.each([null, 'x', 1])('refuses %p in the place of a nested object', (message) => {
    expect(refusal(() => validateInstance(ChatDto, { model: 'm', messages: [user, message] })).message).toBe(
      `messages[1] must be an object (it is ${message === null ? 'null' : JSON.stringify(message)})`,
    );
  });

  it('checks every item of an array of scalars', () => {
    const body = { model: 'm', messages: [user], stop: ['a', 1] };
    expect(refusal(() => validateInstance(ChatDto, body)).message).toBe('stop[1] must be a string (it is 1)');
    expect(validateInstance(ChatDto, { ...body, stop: ['a', 'b'] }).stop).toEqual(['a', 'b']);
  });

  it('follows a condition between members', () => {
    const body = { model: 'm', messages: [user] };
    expect(validateInstance(ChatDto, { ...body, maxTokens: 8 }).maxTokens).toBe(8);
    expect(refusal(() => validateInstance(ChatDto, { ...body, maxTokens: 7 })).message).toBe('reason is required');
  });

  it('applies transforms before it validates', () => {
    expect(validateInstance(ChatDto, { model: 'm', messages: [user], user: ' a ' }).user).toBe('a');
  });

  it('does not turn texts into numbers', () => {
    const body = { model: 'm', messages: [user], maxTokens: '5' };
    expect(refusal(() => validateInstance(ChatDto, body)).message).toBe(
      'maxTokens must be a whole number of at least 1 (it is "5")',
    );
  });

  it('keeps unknown members and leaves them unread, unless told to refuse them', () => {
    const body = { model: 'm', messages: [user], extra: { deep: [1] } };
    expect(validateInstance(ChatDto, body)).toMatchObject({ extra: { deep: [1] } });
    const error = refusal(() => validateInstance(ChatDto, body, { refuseUnknown: true }));
    expect(error.message).toBe('extra is not a member of this object');
  });

  it('shows an unknown name that is no plain name escaped and cut', () => {
    const body = { model: 'm', messages: [user], ['sk live\r\n{'.repeat(100)]: 1 };
    const error = refusal(() => validateInstance(ChatDto, body, { refuseUnknown: true }));
    expect(error.message).toBe(String.raw`["sk live\r\n{sk live\r\n{..."] is not a member of this object`);
  });

  it('lets no member of a caller reach the prototype, a method or the choice of the class', () => {
    const body = JSON.parse(
      `{"model":"m","messages":[{"role":"user","constructor":{"name":"x"}}],
        "__proto__":{"polluted":true},"constructor":1,"greet":"no","toString":"no"}`,
    ) as unknown;
    const chat = validateInstance(ChatDto, body);
    expect(Object.getPrototypeOf(chat)).toBe(ChatDto.prototype);
    expect(chat.greet()).toBe('hello m');
    expect((chat as { polluted?: boolean }).polluted).toBeUndefined();
    expect({}).not.toHaveProperty('polluted');
  });

  it('refuses a tag that names no class', () => {
    const body = { model: 'm', messages: [{ role: 'user', parts: [{ type: 'hologram' }] }] };
    expect(refusal(() => validateInstance(ChatDto, body)).metadata).toEqual({ param: 'messages[0].parts[0]' });
  });

  it('accepts anything for a class that asks for nothing', () => {
    expect(validateInstance(EmptyDto, { a: 1 })).toBeInstanceOf(EmptyDto);
  });

  it('judges the same class the same way on every call', () => {
    const good = { model: 'm', messages: [user] };
    const bad = { model: 1, messages: [user] };
    for (let round = 0; round < 3; round += 1) {
      expect(validateInstance(ChatDto, good).model).toBe('m');
      expect(refusal(() => validateInstance(ChatDto, bad)).message).toBe('model must be a string (it is 1)');
    }
  });

  it('accepts and refuses exactly what class-transformer and class-validator do', () => {
    const orAnything = (valid: fc.Arbitrary<unknown>) =>
      fc.oneof({ weight: 6, arbitrary: valid }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
    const part = fc.record(
      {
        type: orAnything(fc.constantFrom('text', 'image', 'hologram')),
        text: orAnything(fc.string({ maxLength: 12 })),
        url: orAnything(fc.string()),
      },
      { requiredKeys: ['type'] },
    );
    const message = fc.record(
      {
        role: orAnything(fc.constantFrom('user', 'assistant')),
        content: orAnything(fc.string({ maxLength: 110 })),
        parts: orAnything(fc.array(orAnything(part), { maxLength: 3 })),
      },
      { requiredKeys: ['role'] },
    );
    const chat = fc.record(
      {
        model: orAnything(fc.string()),
        messages: orAnything(fc.array(orAnything(message), { maxLength: 3 })),
        maxTokens: orAnything(fc.constantFrom(0, 1, 7, 1.5)),
        stop: orAnything(fc.array(fc.string(), { maxLength: 2 })),
        reason: orAnything(fc.string()),
        user: orAnything(fc.string()),
      },
      { requiredKeys: ['model', 'messages'] },
    );
    const verdicts = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(chat, (body) => {
        const copy = JSON.parse(JSON.stringify(body)) as object;
        // class-transformer throws on null in the place of a tagged object; that is a refusal too.
        const theirs = succeeds(() => validateSync(plainToInstance(ChatDto, copy)).length === 0);
        const ours = accepts(() => validateInstance(ChatDto, body));
        verdicts[theirs ? 'accepted' : 'refused'] += 1;
        expect(ours).toBe(theirs);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(100);
  });
});

class PlainBaseDto {
  @IsString() model: string;
}

class PlainDto extends PlainBaseDto {
  @IsOptional() @IsInt() @Min(1) maxTokens?: number | null;
  @IsOptional() @IsString({ each: true }) stop?: string[];
  @IsOptional() @IsString() @MaxLength(5) user?: string;
  @ValidateIf((dto: PlainDto) => dto.maxTokens === 7) @IsDefined() @IsString() reason?: string;
}

describe(validateClosed.name, () => {
  const body = { model: 'm' };

  it('refuses a member that the class does not have, by its name', () => {
    const error = refusal(() => validateClosed(BaseDto, { ...body, modle: 'n' }));
    expect(error.message).toBe('modle is not a member of this object');
    expect(error.metadata).toMatchObject({ param: 'modle' });
  });

  it('passes over what only the service sets', () => {
    const made = validateClosed(BaseDto, { ...body, id: 7 }, ['id']);
    expect({ ...made }).toEqual(body);
  });

  const inherited = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'greet'];

  it.each(inherited)('refuses the name of a member of every object, by its name: %s', (name) => {
    const bodies = {
      [name]: `{"model":"m","messages":[],"${name}":{}}`,
      [`messages[0].${name}`]: `{"model":"m","messages":[{"role":"user","${name}":1}]}`,
      [`messages[0].parts[0].${name}`]: `{"model":"m","messages":[{"role":"user","parts":[{"type":"text","text":"x","${name}":1}]}]}`,
    };
    for (const [path, body] of Object.entries(bodies)) {
      const error = refusal(() => validateClosed(ChatDto, JSON.parse(body)));
      expect(error.message).toBe(`${path} is not a member of this object`);
      expect(error.metadata).toEqual({ param: path });
    }
  });
});

describe(plainValidator.name, () => {
  const validate = plainValidator(PlainDto);

  it('gives back the object that it was given', () => {
    const plain = { model: 'm', maxTokens: null, unknown: 1 };
    expect(validate(plain)).toBe(plain);
  });

  it('finds what validateInstance finds, and says it in the same words and order', () => {
    const refusalOf = (act: () => unknown): unknown => {
      try {
        act();
        return null;
      } catch (error) {
        return error instanceof AppError && [error.code, error.message, error.metadata];
      }
    };
    const any = fc.constantFrom<unknown>('m', 'longer', 7, 0, 1.5, null, undefined, true, ['x'], [1], {});
    const member = fc.constantFrom('model', 'maxTokens', 'stop', 'user', 'reason', 'unknown', 'constructor');
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(member, any), any), (plain) => {
        const refusal = refusalOf(() => validate(plain));
        expect(refusal).toEqual(refusalOf(() => validateInstance(PlainDto, plain)));
        if (refusal !== null) refused += 1;
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(50);
  });

  it('takes no class whose instances are more than what they are made of', () => {
    class Preset {
      @IsInt() limit = 20;
    }
    for (const Class of [ChatDto, MessageDto, Preset]) expect(() => plainValidator<object>(Class)).toThrow(Class.name);
  });
});
