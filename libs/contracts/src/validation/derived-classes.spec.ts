import { IsBoolean, IsOptional, Length, validateSync } from 'class-validator';
import { MayBeAbsent } from '../organizations/member-rules';
import { BothOf, Complete, fromHttp, givenFields, HttpFields, Needing, recordOf, toHttp } from './derived-classes';

class Settings {
  @MayBeAbsent()
  @Length(1, 5)
  shortName?: string;

  @IsOptional()
  @Length(1, 5)
  limitUsd?: string | null;

  @MayBeAbsent()
  @IsBoolean()
  isOn?: boolean;
}

class NewSettings extends Needing(Settings, 'shortName') {
  @IsOptional()
  @Length(4, 4)
  bornIn?: string | null;
}

class Reference {
  @Length(2, 2)
  id: string;
}

class Change extends BothOf(Reference, Settings) {}

class Body extends HttpFields(NewSettings, 'limitUsd') {
  @IsBoolean()
  limit: boolean;
}

class Thing extends Complete(NewSettings) {
  id: string;
  createdAt: string;
  endedAt: string | null;
}

function refused(instance: object): string[] {
  return validateSync(instance).map(({ property }) => property);
}

describe('classes derived from one declaration of fields', () => {
  it('keep the rules of each field', () => {
    expect(refused(Object.assign(new Change(), { id: 'ab', isOn: true, limitUsd: null }))).toEqual([]);
    const wrong = { id: 'a', shortName: 'far too long', limitUsd: '', isOn: 1 };
    expect(refused(Object.assign(new Change(), wrong)).toSorted()).toEqual(['id', 'isOn', 'limitUsd', 'shortName']);
  });

  it('need the fields that are named, also in classes that extend them', () => {
    expect(refused(new Settings())).toEqual([]);
    expect(refused(new NewSettings())).toEqual(['shortName']);
    class Further extends NewSettings {}
    expect(refused(new Further())).toEqual(['shortName']);
  });

  it('have the names of HTTP for a body, without the fields that have another meaning there', () => {
    expect(refused(Object.assign(new Body(), { limit: true, short_name: 'a', is_on: false }))).toEqual([]);
    expect(refused(Object.assign(new Body(), { limit: true, shortName: 'a', limit_usd: '' }))).toEqual(['short_name']);
    expect(refused(Object.assign(new Body(), { limit: true, short_name: 'a', born_in: 'x' }))).toEqual(['born_in']);
  });

  it('turn a body into the fields of a message', () => {
    const body = Object.assign(new Body(), { limit: true, short_name: 'a', born_in: null, is_on: undefined });
    expect(fromHttp(body)).toEqual({ limit: true, shortName: 'a', bornIn: null });
    expect(fromHttp(body)).not.toHaveProperty('isOn');
  });

  it('take of a request what is given and declared, and nothing else', () => {
    const request = { id: 'ab', shortName: undefined, limitUsd: null, isOn: false, secretHash: 'x' };
    expect(Object.entries(givenFields(Settings, request))).toEqual([
      ['limitUsd', null],
      ['isOn', false],
    ]);
  });

  const entity = {
    id: 'ab',
    shortName: 'a',
    limitUsd: '1',
    isOn: true,
    bornIn: null,
    createdAt: new Date(0),
    endedAt: null,
    secretHash: 'x',
  };

  it('take of an entity what the record declares, with moments as text', () => {
    const { secretHash: _hidden, ...shown } = entity;
    expect(recordOf(Thing, entity)).toEqual({ ...shown, createdAt: '1970-01-01T00:00:00.000Z' });
  });

  it('show what the settings declare, and null for what an older app does not know', () => {
    const record = { ...recordOf(Thing, entity), bornIn: undefined } as unknown as Thing;
    expect(toHttp(NewSettings, record)).toEqual({ short_name: 'a', limit_usd: '1', is_on: true, born_in: null });
  });
});
