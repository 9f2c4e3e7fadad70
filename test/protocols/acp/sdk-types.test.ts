import type {
  AvailableCommand as SdkCommand,
  ContentBlock as SdkBlock,
  PermissionOption as SdkOption,
  PlanEntry as SdkPlanEntry,
  SessionConfigOption as SdkConfigOption,
  SessionInfo as SdkInfo,
  SessionModeState as SdkModes,
  SessionUpdate as SdkUpdate,
  StopReason as SdkStopReason,
  ToolCallContent as SdkContent,
  ToolCallStatus as SdkStatus,
  ToolKind as SdkKind,
} from '@agentclientprotocol/sdk';
import { describe, expectTypeOf, it } from 'vitest';
import type * as ours from '../../../src/protocols/acp/wire.ts';

/** The SDK declares mutable lists; ours are read-only, which is the same on the wire. */
type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

/** TypeScript checks these: `npm run check:types` fails if a type of the door is not one of the protocol. */
describe('the wire types of the door', () => {
  it('are assignable to the types of the official SDK', () => {
    expectTypeOf<Mutable<ours.SessionUpdate>>().toExtend<SdkUpdate>();
    expectTypeOf<Mutable<ours.ContentBlock>>().toExtend<SdkBlock>();
    expectTypeOf<Mutable<ours.ToolCallContent>>().toExtend<SdkContent>();
    expectTypeOf<Mutable<ours.ConfigOption>>().toExtend<SdkConfigOption>();
    expectTypeOf<Mutable<ours.SessionModes>>().toExtend<SdkModes>();
    expectTypeOf<Mutable<ours.PermissionOption>>().toExtend<SdkOption>();
    expectTypeOf<Mutable<ours.SessionInfo>>().toExtend<SdkInfo>();
    expectTypeOf<Mutable<ours.PlanEntry>>().toExtend<SdkPlanEntry>();
    expectTypeOf<Mutable<ours.AvailableCommand>>().toExtend<SdkCommand>();
  });

  it('use only values that the SDK lists', () => {
    expectTypeOf<ours.StopReason>().toEqualTypeOf<SdkStopReason>();
    expectTypeOf<ours.ToolKind>().toExtend<SdkKind>();
    expectTypeOf<ours.ToolCallStatus>().toExtend<SdkStatus>();
    expectTypeOf<ours.PermissionKind>().toExtend<SdkOption['kind']>();
    expectTypeOf<ours.SessionUpdate['sessionUpdate']>().toExtend<SdkUpdate['sessionUpdate']>();
  });
});
