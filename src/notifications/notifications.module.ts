import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { Config } from '../config.js';
import { DeliveryInvariant } from './delivery-invariant.js';
import { DeliveryLoop } from './delivery-loop.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DeliverySchedule } from './delivery-schedule.js';
import { DeliveryWake } from './delivery-wake.js';
import { ErrorQueueController } from './error-queue.controller.js';
import {
  ResendMatchingHandler,
  ResendNotificationHandler,
  ResolveNotificationHandler,
  SteerResendHandler,
} from './error-queue.handlers.js';
import { NotificationReader } from './notification-reader.js';
import { NotificationsController } from './notifications.controller.js';
import { ResendsController } from './resends.controller.js';
import { SubscriptionStore } from './subscription-store.js';
import { VerifySubscriptionHandler } from './subscription-verification.js';
import { SubscriptionsController } from './subscriptions.controller.js';
import {
  ChangeSubscriptionHandler,
  CreateSubscriptionHandler,
  DeleteSubscriptionHandler,
  ResumeSubscriptionHandler,
  RotateSigningSecretHandler,
  SuspendSubscriptionHandler,
} from './subscriptions.handlers.js';
import { NotificationRetention } from './notification-retention.js';
import { NotificationsSaga } from './notifications.saga.js';
import { PartnerAddressGuard } from './partner-address.js';
import { PartnerClient, partnerHttpOptions } from './partner-client.js';
import { PartnerDirectory } from './partner-directory.js';
import { QueueUpkeep } from './queue-upkeep.js';
import { ResendJobs } from './resend-jobs.js';
import { SubscriptionSecrets } from './subscription-secrets.js';
import { TranslateBookingEventsHandler } from './translation.js';

@Module({
  imports: [HttpModule.register(partnerHttpOptions)],
  controllers: [SubscriptionsController, ErrorQueueController, ResendsController, NotificationsController],
  providers: [
    {
      provide: PartnerAddressGuard,
      useFactory: (config: Config) => new PartnerAddressGuard([...config.partnerAllowedNetworks]),
      inject: [Config],
    },
    PartnerClient,
    PartnerDirectory,
    SubscriptionSecrets,
    NotificationsSaga,
    TranslateBookingEventsHandler,
    DeliveryLoop,
    DeliveryMetrics,
    DeliveryWake,
    DeliverySchedule,
    DeliveryInvariant,
    QueueUpkeep,
    ResendJobs,
    NotificationRetention,
    NotificationReader,
    SubscriptionStore,
    CreateSubscriptionHandler,
    ChangeSubscriptionHandler,
    DeleteSubscriptionHandler,
    SuspendSubscriptionHandler,
    ResumeSubscriptionHandler,
    RotateSigningSecretHandler,
    VerifySubscriptionHandler,
    ResendNotificationHandler,
    ResolveNotificationHandler,
    ResendMatchingHandler,
    SteerResendHandler,
  ],
})
export class NotificationsModule {}
