import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { NotificationsConfig } from './notifications.config.js';
import { AttemptHours } from './delivery/attempt-hours.js';
import { DeliveryInvariant } from './delivery/delivery-invariant.js';
import { DeliveryLoop } from './delivery/delivery-loop.js';
import { DeliveryMetrics } from './delivery/delivery-metrics.js';
import { DeliverySchedule } from './delivery/delivery-schedule.js';
import { DeliverySignals } from './delivery-signals.js';
import { ErrorQueueController } from './error-queue/error-queue.controller.js';
import { ResendNotificationHandler, ResolveNotificationHandler } from './error-queue/error-queue.handlers.js';
import { FilterBounds } from './error-queue/filter-bounds.js';
import { JobReader } from './error-queue/job-reader.js';
import { JobsController } from './error-queue/jobs.controller.js';
import { StartJobHandler, SteerJobHandler } from './error-queue/jobs.handlers.js';
import { NotificationReader } from './error-queue/notification-reader.js';
import { NotificationsController } from './error-queue/notifications.controller.js';
import {
  FindActiveJobsHandler,
  MarkActiveJobsHandler,
  PartnerReader,
  SurveyPartnersHandler,
} from './error-queue/partner-reader.js';
import { DigestController } from './partner-side/digest.controller.js';
import { DigestReader } from './partner-side/digest-reader.js';
import { DigestUpkeep } from './delivery/digest-upkeep.js';
import { PollController } from './partner-side/poll.controller.js';
import { Polls } from './partner-side/poll.js';
import { PollWaiters } from './partner-side/poll-waiters.js';
import { PartnersController } from './error-queue/partners.controller.js';
import { ResendsController } from './error-queue/resends.controller.js';
import { StatisticsController } from './error-queue/statistics.controller.js';
import { StatisticsReader } from './error-queue/statistics-reader.js';
import { OwnJobsController } from './partner-side/own-jobs.controller.js';
import { OwnNotificationsController } from './partner-side/own-notifications.controller.js';
import { OwnSubscriptionsController } from './partner-side/own-subscriptions.controller.js';
import { SubscriptionPresenter } from './subscriptions/subscription-presenter.js';
import { ClockWatch } from './delivery/clock-watch.js';
import { FindKnownSubscriptionsHandler } from './subscriptions/known-subscriptions.handlers.js';
import { PartnerStanding } from './subscriptions/partner-standing.js';
import { RepeatedAddresses } from './subscriptions/repeated-addresses.js';
import { SubscriptionStore } from './subscriptions/subscription-store.js';
import { PartnerProbe } from './subscriptions/partner-probe.js';
import { SendSampleHandler, VerifySubscriptionHandler } from './subscriptions/subscription-verification.js';
import { SubscriptionsController } from './subscriptions/subscriptions.controller.js';
import {
  ChangeSubscriptionHandler,
  CreateSubscriptionHandler,
  DeleteSubscriptionHandler,
  ResumeSubscriptionHandler,
  SuspendSubscriptionHandler,
} from './subscriptions/subscriptions.handlers.js';
import { NotificationPersonalData } from './delivery/notification-personal-data.js';
import { NotificationRetention } from './delivery/notification-retention.js';
import { NotificationsSaga } from './notifications.saga.js';
import { PartnerAddressGuard } from './partner/partner-address.js';
import { PartnerClient, partnerHttpOptions } from './partner/partner-client.js';
import { PollOffers } from './delivery/poll-offers.js';
import { PartnerDirectory } from './subscriptions/partner-directory.js';
import { RacePoints } from './race-points.js';
import { QueueUpkeep } from './delivery/queue-upkeep.js';
import { JobPreparation } from './delivery/job-preparation.js';
import { JobRetention } from './delivery/job-retention.js';
import { SubscriptionRetention } from './delivery/subscription-retention.js';
import { JobRunner } from './delivery/job-runner.js';
import { ReplicationGate } from './delivery/replication-gate.js';
import { UndeliveredFigures } from './delivery/undelivered-figures.js';
import { RotateSigningSecretHandler } from './subscriptions/signing-secret.handlers.js';
import { SubscriptionSecrets } from './subscriptions/subscription-secrets.js';
import {
  FindDeliveryStallHandler,
  SurveyExamsSoonHandler,
  SurveyPartnerSignsHandler,
} from './delivery/conditions.handlers.js';
import { WebhookClient } from './partner/webhook-client.js';
import { CheckWebhookAddressHandler, PostToWebhookHandler } from './subscriptions/webhooks.handlers.js';
import { TranslateEventsHandler } from './delivery/translation.js';

@Module({
  imports: [HttpModule.register(partnerHttpOptions)],
  controllers: [
    SubscriptionsController,
    ErrorQueueController,
    ResendsController,
    JobsController,
    StatisticsController,
    PartnersController,
    NotificationsController,
    PollController,
    DigestController,
    OwnSubscriptionsController,
    OwnNotificationsController,
    OwnJobsController,
  ],
  providers: [
    {
      provide: PartnerAddressGuard,
      useFactory: (config: NotificationsConfig) => new PartnerAddressGuard([...config.partnerAllowedNetworks]),
      inject: [NotificationsConfig],
    },
    PartnerClient,
    PartnerDirectory,
    SubscriptionSecrets,
    NotificationsSaga,
    TranslateEventsHandler,
    RacePoints,
    DeliveryLoop,
    PollOffers,
    DigestUpkeep,
    DigestReader,
    PollWaiters,
    Polls,
    ReplicationGate,
    DeliveryMetrics,
    DeliverySignals,
    DeliverySchedule,
    DeliveryInvariant,
    UndeliveredFigures,
    AttemptHours,
    PartnerReader,
    SurveyPartnersHandler,
    FindActiveJobsHandler,
    MarkActiveJobsHandler,
    PartnerProbe,
    SendSampleHandler,
    QueueUpkeep,
    JobPreparation,
    JobRunner,
    JobRetention,
    SubscriptionRetention,
    FilterBounds,
    JobReader,
    NotificationRetention,
    NotificationPersonalData,
    NotificationReader,
    SubscriptionStore,
    SubscriptionPresenter,
    StatisticsReader,
    FindKnownSubscriptionsHandler,
    PartnerStanding,
    RepeatedAddresses,
    ClockWatch,
    CreateSubscriptionHandler,
    ChangeSubscriptionHandler,
    DeleteSubscriptionHandler,
    SuspendSubscriptionHandler,
    ResumeSubscriptionHandler,
    RotateSigningSecretHandler,
    VerifySubscriptionHandler,
    ResendNotificationHandler,
    ResolveNotificationHandler,
    StartJobHandler,
    SteerJobHandler,
    SurveyPartnerSignsHandler,
    SurveyExamsSoonHandler,
    FindDeliveryStallHandler,
    WebhookClient,
    PostToWebhookHandler,
    CheckWebhookAddressHandler,
  ],
})
export class NotificationsModule {}
